#!/usr/bin/env python3
"""Compares what `weft topo --json` says of a machine.

devices.py compare A B          the devices of both must have NICs at the same addresses, and those of B serve at least
                                the GPUs they serve in A (a machine with fewer NUMA nodes has more GPUs near); prints
                                their number
devices.py gpus MACHINE         prints how many GPUs of NVIDIA's it has
devices.py nccl MACHINE DUMP LOG  NCCL's own topology dump must show every device with the speed of its NICs and a link
                                that carries it, and NCCL's log must show that GPUs use their own devices
"""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

NIC_MBPS = 100_000  # an emulated NIC's, where the instance table knows no more


def devices(machine):
    """By device: the addresses of its NICs, without regard to the order of rails, and of its GPUs."""
    at = {nic["name"]: nic["address"] for nic in machine["nics"]}
    return [(sorted(at[name] for name in device["nics"]), set(device["gpus"])) for device in machine["devices"]]


def compare(there, here):
    there, here = devices(there), devices(here)
    same = len(there) == len(here) and all(a[0] == b[0] and a[1] <= b[1] for a, b in zip(there, here))
    if not same:
        sys.exit(f"there: {there}\nhere:  {here}")
    print(len(here))


def count_gpus(node):
    return (node["kind"] == "gpu" and node["vendor"] == "0x10de") + sum(map(count_gpus, node["children"]))


def check_dump(machine, dump):
    nic_mbps = max(NIC_MBPS, (machine["instance"] or {}).get("nic_mbps") or 0)
    nets = {}
    for pci in dump.iter("pci"):
        for net in pci.findall("nic/net"):
            nets[int(net.get("dev"))] = (pci, net)
    for device in machine["devices"]:
        lead = next(nic for nic in machine["nics"] if nic["device"] == device["device"] and nic["rail"] == 0)
        if device["device"] not in nets:
            sys.exit(f"device {device['device']} is not in NCCL's dump")
        pci, net = nets[device["device"]]
        speed = nic_mbps * len(device["nics"])
        if pci.get("busid") != lead["address"] or int(net.get("speed")) != speed:
            sys.exit(f"device {device['device']}: at {pci.get('busid')} with {net.get('speed')} Mb/s in NCCL's dump, "
                     f"but at {lead['address']} with {speed}")
        transfers = float(re.match(r"[\d.]+", pci.get("link_speed"))[0])
        lanes = int(pci.get("link_width")) or 16  # as NCCL takes it
        if transfers * 1000 * lanes < speed:
            sys.exit(f"device {device['device']}: a link of {pci.get('link_speed')} x {pci.get('link_width')} is "
                     f"narrower than its {speed} Mb/s")


def check_log(machine, log):
    own = {index: {device["device"] for device in machine["devices"] if gpu["address"] in device["gpus"]}
           for index, gpu in enumerate(machine["gpus"])}
    # "0[0] -> 3[1] [receive] via NET/Weft/2/GDRDMA": the GPU is 1, that of the sender where it says "send".
    used = re.findall(r"\d+\[(\d+)\] -> \d+\[(\d+)\] \[(send|receive)\] via NET/Weft/(\d+)", log)
    if not used:
        sys.exit("NCCL's log shows no connection over Weft")
    for sender, receiver, direction, device in used:
        gpu = int(sender if direction == "send" else receiver)
        if own[gpu] and int(device) not in own[gpu]:
            sys.exit(f"GPU {gpu} uses device {device}, not its own {own[gpu]}")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


match sys.argv[1:]:
    case ["compare", there, here]:
        compare(load(there), load(here))
    case ["gpus", machine]:
        print(count_gpus(load(machine)["tree"]))
    case ["nccl", machine, dump, log]:
        check_dump(load(machine), ElementTree.parse(dump))
        with open(log, encoding="utf-8", errors="replace") as file:
            check_log(load(machine), file.read())
    case _:
        sys.exit(__doc__)
