#pragma once

// What the emulated libraries export.
#define WEFT_EMULATED extern "C" __attribute__((visibility("default")))
