// Prints a hash of the results of each kind of instruction that an emulator may hand to its host's
// processor or mathematics library, and what CPUID says.
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 4000 };

static uint64_t state = 88172645463325252ull;

// xorshift64
static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// From -1 to 1 at first, then with any exponent up to 2^62.
static double number(int round) {
    double unit = (double)(int64_t)draw() / 9223372036854775808.0;
    return round < ROUNDS / 2 ? unit : unit * (double)(1ull << draw() % 63);
}

static uint64_t hash(uint64_t hash, const void *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211ull;
    return hash;
}

#define REPEAT(name, ...)                                  \
    do {                                                   \
        uint64_t sum = 14695981039346656037ull;            \
        for (int round = 0; round < ROUNDS; round++) {     \
            double a = number(round), b = number(round);   \
            (void)b;                                       \
            __VA_ARGS__                                    \
        }                                                  \
        printf("%s %016llx\n", name, (unsigned long long)sum); \
    } while (0)

// One operand on the x87 stack.
#define X87(name)                                          \
    REPEAT(name, {                                         \
        long double x = a;                                 \
        __asm__ volatile(name : "+t"(x));                  \
        sum = hash(sum, &x, 10);                           \
    })

// Two operands, of which the instruction pops one.
#define X87_POP(name)                                      \
    REPEAT(name, {                                         \
        long double x = b < 0 ? -b : b, y = a;             \
        __asm__ volatile(name : "+t"(x) : "u"(y) : "st(1)"); \
        sum = hash(sum, &x, 10);                           \
    })

// Two results, the second of which is pushed.
#define X87_PUSH(name)                                     \
    REPEAT(name, {                                         \
        long double x, y;                                  \
        __asm__ volatile(name : "=t"(x), "=u"(y) : "0"((long double)a)); \
        sum = hash(sum, &x, 10);                           \
        sum = hash(sum, &y, 10);                           \
    })

#define SSE(name, code)                                    \
    REPEAT(name, {                                         \
        double x = a;                                      \
        __asm__ volatile(code : "+x"(x) : "x"(b), "x"(a * b)); \
        sum = hash(sum, &x, 8);                            \
    })

int main(void) {
    X87("fsin");
    X87("fcos");
    X87("f2xm1");
    X87("fsqrt");
    X87("frndint");
    X87_PUSH("fsincos");
    X87_PUSH("fxtract");
    REPEAT("fptan", {
        // Out of its range nothing is pushed.
        long double x, y;
        long double angle = round < ROUNDS / 2 ? a : a / 4;
        __asm__ volatile("fptan" : "=t"(x), "=u"(y) : "0"(angle));
        sum = hash(sum, &x, 10);
        sum = hash(sum, &y, 10);
    });
    X87_POP("fyl2x");
    X87_POP("fpatan");
    REPEAT("fprem", {
        long double x = a;
        __asm__ volatile("fprem" : "+t"(x) : "u"((long double)b));
        sum = hash(sum, &x, 10);
    });
    SSE("mulsd", "mulsd %1, %0");
    SSE("divsd", "divsd %1, %0");
    SSE("sqrtsd", "sqrtsd %1, %0");
    SSE("roundsd", "roundsd $9, %1, %0");
    SSE("rcpps", "rcpps %1, %0");
    SSE("rsqrtps", "rsqrtps %1, %0");
    SSE("dppd", "dppd $0x31, %1, %0");
    SSE("vfmadd231sd", "vfmadd231sd %1, %2, %0");
    SSE("vfmadd231ps", "vfmadd231ps %1, %2, %0");
    SSE("vfnmsub132sd", "vfnmsub132sd %1, %2, %0");
    SSE("aesenc", "aesenc %1, %0");
    SSE("pclmulqdq", "pclmulqdq $0, %1, %0");
    REPEAT("crc32", {
        uint64_t x = 0, bits;
        memcpy(&bits, &a, 8);
        __asm__ volatile("crc32q %1, %0" : "+r"(x) : "r"(bits));
        sum = hash(sum, &x, 8);
    });
    for (unsigned part = 0; part < 2; part++)
        for (unsigned leaf = part << 31; leaf < (part << 31) + 0x24; leaf++)
            for (unsigned sub = 0; sub < 4; sub++) {
                unsigned a, b, c, d;
                __cpuid_count(leaf, sub, a, b, c, d);
                printf("%x.%u %08x %08x %08x %08x\n", leaf, sub, a, b, c, d);
            }
    return 0;
}
