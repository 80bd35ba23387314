// A shared library that is no net plugin.
extern "C" __attribute__((visibility("default"))) int weft_no_plugin() { return 0; }
