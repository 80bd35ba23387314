// Prints README's table of parameters.
#include <cstdio>

#include "weft/params.h"

int main() { return std::fputs(weft::params_markdown().c_str(), stdout) < 0 ? 1 : 0; }
