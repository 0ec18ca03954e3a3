# Compiles part of newlib, the C library of Debian's package newlib-source, for the machine itself.
# UNITS and OPTIMIZE come from the command line.
CC := {triplet}-gcc-14
AR := {triplet}-ar
FOLDERS := libc/time libc/search libc/stdio libm/math
SOURCES := $(wordlist 1,$(UNITS),$(foreach folder,$(FOLDERS),$(sort $(wildcard $(folder)/*.c))))
OBJECTS := $(SOURCES:%.c=/tmp/out/%.o)
CPPFLAGS := -nostdinc -isystem /usr/lib/gcc/{triplet}/14/include \
	-Ilibc/include -Ilibc/locale -Ilibm/common -D_LIBC -D_COMPILING_NEWLIB
CFLAGS := -O$(OPTIMIZE) -fno-builtin

/tmp/out/libc.a: $(OBJECTS)
	$(AR) rcs $@ $^

/tmp/out/%.o: %.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
