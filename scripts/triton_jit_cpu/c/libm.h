/* SPDX-License-Identifier: Apache-2.0 */
/* libm by its prototypes: math.h costs compile time. Each for double, and with an f for float. */
/*@ NAME @ NAME exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh
 * tanh asinh acosh atanh erf erfc cbrt floor ceil trunc round rint nearbyint fabs sqrt lgamma
 * tgamma logb j0 j1 y0 y1 */
double NAME(double);
/*@ NAMEf @ NAME exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh
 * tanh asinh acosh atanh erf erfc cbrt floor ceil trunc round rint nearbyint fabs sqrt lgamma
 * tgamma logb j0 j1 y0 y1 */
float NAMEf(float);
/*@ NAME @ NAME atan2 pow fmod copysign hypot nextafter remainder */
double NAME(double, double);
/*@ NAMEf @ NAME atan2 pow fmod copysign hypot nextafter remainder */
float NAMEf(float, float);
/*@ fma */
double fma(double, double, double);
/*@ fmaf */
float fmaf(float, float, float);
/*@ NAME @ NAME jn yn */
double NAME(int, double);
/*@ NAMEf @ NAME jn yn */
float NAMEf(int, float);
/*@ ilogb */
int ilogb(double);
/*@ ilogbf */
int ilogbf(float);
