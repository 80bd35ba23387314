// Clang's thread safety annotations; nothing on other compilers.
#pragma once

#if defined(__clang__)
#define WEFT_ATTRIBUTE(x) __attribute__((x))
#else
#define WEFT_ATTRIBUTE(x)
#endif

#define WEFT_CAPABILITY(name) WEFT_ATTRIBUTE(capability(name))
#define WEFT_SCOPED_CAPABILITY WEFT_ATTRIBUTE(scoped_lockable)
#define WEFT_GUARDED_BY(lock) WEFT_ATTRIBUTE(guarded_by(lock))
#define WEFT_REQUIRES(...) WEFT_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define WEFT_EXCLUDES(...) WEFT_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define WEFT_ACQUIRE(...) WEFT_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define WEFT_RELEASE(...) WEFT_ATTRIBUTE(release_capability(__VA_ARGS__))
