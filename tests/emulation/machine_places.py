#!/usr/bin/env python3
"""Reads what `weft topo --json` says of a machine and prints weft-lab's options for one like it, an argument a line."""
import json
import sys


def devices(node, bridges=(), numa=0):
    """Yields GPUs and NICs with the addresses of the bridges above them and their NUMA node."""
    kind = node["kind"]
    if kind == "numa":
        numa = node["numa"]
    if kind == "bridge":
        bridges = (*bridges, node["address"])
    if kind in ("gpu", "nic"):
        yield node, "/".join((*bridges, node["address"])), numa
    for child in node["children"]:
        yield from devices(child, bridges, numa)


machine = json.load(sys.stdin)
found = list(devices(machine["tree"]))
gpus = sorted((node["address"], place) for node, place, _ in found if node["kind"] == "gpu")
nics = [(place, str(numa)) for node, place, numa in found if node["kind"] == "nic" and node["efa"]]
print(f"--nics\n{len(nics)}\n--gpus\n{len(gpus)}")
if machine["instance_type"]:
    print("--product\n" + machine["instance_type"])
if nics:
    print("--pci\n" + ",".join(place for place, _ in nics))
    print("--numa\n" + ",".join(numa for _, numa in nics))
if gpus:
    print("--gpu-pci\n" + ",".join(place for _, place in gpus))
