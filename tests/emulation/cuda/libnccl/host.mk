# NCCL's host side with g++ alone. Run in NCCL's src/ with -f. The lists of sources, the headers and the flags are those
# of NCCL's own Makefile; each file is compiled once, without a pass for dependencies and without debug information.
# Variables: BUILDDIR (output), STUB (this folder, beside nccl/), CUDA_INC, CUDA_LIB.
include Makefile
HOSTFLAGS = -I. -I$(INCDIR) -I$(OBJDIR)/include $(filter-out -O3 -g,$(CXXFLAGS)) -O1 -w \
  -Iinclude -I$(INCPLUGIN) -I$(DOCA_HOME)/include
GEN = $(OBJDIR)/gen
STUBOBJ = $(GEN)/host_table.o $(GEN)/sym_host.o $(GEN)/device_stub.o

$(OBJDIR)/%.o : %.cc $(INCTARGETS)
	mkdir -p $(@D)
	$(CXX) $(HOSTFLAGS) -c $< -o $@
$(DOCA_OBJDIR)/%.o : $(DOCA_HOME)/src/%.cpp
	mkdir -p $(@D)
	$(CXX) -I$(DOCA_HOME)/src $(HOSTFLAGS) -c $< -o $@

# NCCL's generators write the tables of functions and kernels, which are plain C++; the kernels themselves are stubs.
$(GEN)/host_table.o : $(INCTARGETS)
	mkdir -p $(GEN)
	python3 device/generate.py $(GEN)/dev ""
	$(CXX) $(HOSTFLAGS) -c $(GEN)/dev/host_table.cc -o $@
$(GEN)/sym_host.o : $(INCTARGETS)
	mkdir -p $(GEN)/sym
	python3 device/symmetric/generate.py $(GEN)/sym
	$(CXX) $(HOSTFLAGS) -c $(GEN)/sym/sym_kernels_host.cc -o $@
$(GEN)/device_stub.o : $(wildcard $(STUB)/* $(STUB)/../nccl/*.h) $(GEN)/host_table.o $(GEN)/sym_host.o
	$(CXX) $(HOSTFLAGS) -I$(STUB)/.. -fsyntax-only $(STUB)/layout_check.cc
	nm -u $(GEN)/host_table.o $(GEN)/sym_host.o | sed -n 's/.* U \(.*Kernel_.*\)/KERNEL(\1)/p' | sort -u > $(GEN)/kernels.inc
	sed -n 's|^/\* *[0-9]*\*/ \([0-9][0-9]*\), // \(.*\)$$|FUNCTION(\1, "\2")|p' $(GEN)/dev/host_table.cc > $(GEN)/functions.inc
	grep -q 'RING LL' $(GEN)/functions.inc
	$(CXX) $(HOSTFLAGS) -I$(GEN) -I$(STUB)/.. -c $(STUB)/device_stub.cc -o $@

.DEFAULT_GOAL := lab_library
lab_library : $(LIBOBJ) $(STUBOBJ)
	mkdir -p $(LIBDIR)
	$(CXX) -shared -Wl,-soname,$(LIBSONAME) -o $(LIBDIR)/$(LIBTARGET).new $(LIBOBJ) $(STUBOBJ) \
	  -L$(CUDA_LIB) -Wl,--no-as-needed -lcudart -Wl,--as-needed -lpthread -lrt -ldl -Wl,--version-script=libnccl.map
	mv $(LIBDIR)/$(LIBTARGET).new $(LIBDIR)/$(LIBTARGET)
	ln -sf $(LIBTARGET) $(LIBDIR)/$(LIBSONAME)
	ln -sf $(LIBSONAME) $(LIBDIR)/$(LIBNAME)
