/* Numbers: whole numbers of 61 bits in the value itself, floating-point numbers as objects. A whole result that does
 * not fit is a floating-point number. */
#include "scheme.h"

#include <math.h>

value new_flonum(scheme *s, double number) {
  flonum *made = CRADLE_NEW_UNINITIALIZED(s->m, flonum, T_FLONUM);
  made->number = number;
  return value_of(made);
}

value new_integer(scheme *s, int64_t number) {
  return number >= FIXNUM_MIN && number <= FIXNUM_MAX ? fixnum(number) : new_flonum(s, (double)number);
}

bool is_number(value v) {
  return is_fixnum(v) || is_a(v, T_FLONUM);
}
CRADLE_MAY_COLLECT static double number_of(scheme *s, value v) {
  if (is_fixnum(v)) return (double)fixnum_of(v);
  if (CRADLE_UNLIKELY(!is_a(v, T_FLONUM))) fail_type(s, v, "a number");
  return ((const flonum *)object_of(v))->number;
}
static bool is_integer(value v) {
  if (is_fixnum(v)) return true;
  if (!is_a(v, T_FLONUM)) return false;
  double number = ((const flonum *)object_of(v))->number;
  return number == floor(number) && !isinf(number);
}
/* For a floating-point result that is whole by definition: returns a fixnum if the operands were fixnums and the result
 * fits. */
CRADLE_MAY_COLLECT static value whole(scheme *s, double number, bool is_exact) {
  if (is_exact && number >= (double)FIXNUM_MIN && number <= (double)FIXNUM_MAX) return fixnum((int64_t)number);
  return new_flonum(s, number);
}

/* --- arithmetic --- */

CRADLE_MAY_COLLECT static value add(scheme *s, value left, value right) {
  if (CRADLE_LIKELY(is_fixnum(left) && is_fixnum(right))) return new_integer(s, fixnum_of(left) + fixnum_of(right));
  double sum = number_of(s, left) + number_of(s, right);
  return new_flonum(s, sum);
}
CRADLE_MAY_COLLECT static value subtract(scheme *s, value left, value right) {
  if (CRADLE_LIKELY(is_fixnum(left) && is_fixnum(right))) return new_integer(s, fixnum_of(left) - fixnum_of(right));
  double difference = number_of(s, left) - number_of(s, right);
  return new_flonum(s, difference);
}
CRADLE_MAY_COLLECT static value multiply(scheme *s, value left, value right) {
  int64_t product;
  if (is_fixnum(left) && is_fixnum(right) && !__builtin_mul_overflow(fixnum_of(left), fixnum_of(right), &product))
    return new_integer(s, product);
  double real = number_of(s, left) * number_of(s, right);
  return new_flonum(s, real);
}
CRADLE_MAY_COLLECT static value divide(scheme *s, value left, value right) {
  double divisor = number_of(s, right), dividend = number_of(s, left);
  if (right == fixnum(0)) fail(s, left, "division by zero:");
  if (is_fixnum(left) && is_fixnum(right) && fixnum_of(left) % fixnum_of(right) == 0)
    return new_integer(s, fixnum_of(left) / fixnum_of(right));
  return new_flonum(s, dividend / divisor);
}

typedef value operation(scheme *s, value left, value right);
CRADLE_MAY_COLLECT static value fold(scheme *s, size_t count, const value *args, value start, operation *with) {
  value result = start;
  for (size_t i = 0; i < count; i++) result = with(s, result, args[i]);
  return result;
}
CRADLE_MAY_COLLECT static value add_row(scheme *s, size_t count, const value *args) {
  return count == 2 ? add(s, args[0], args[1]) : fold(s, count, args, fixnum(0), add);
}
CRADLE_MAY_COLLECT static value multiply_row(scheme *s, size_t count, const value *args) {
  return count == 2 ? multiply(s, args[0], args[1]) : fold(s, count, args, fixnum(1), multiply);
}
CRADLE_MAY_COLLECT static value subtract_row(scheme *s, size_t count, const value *args) {
  if (count == 1) return subtract(s, fixnum(0), args[0]);
  return count == 2 ? subtract(s, args[0], args[1]) : fold(s, count - 1, args + 1, args[0], subtract);
}
CRADLE_MAY_COLLECT static value divide_row(scheme *s, size_t count, const value *args) {
  return count == 1 ? divide(s, fixnum(1), args[0]) : fold(s, count - 1, args + 1, args[0], divide);
}

/* Both whole numbers, the divisor not zero. */
CRADLE_MAY_COLLECT static bool check_division(scheme *s, const value *args) {
  for (int i = 0; i < 2; i++)
    if (!is_integer(args[i])) fail_type(s, args[i], "a whole number");
  if (number_of(s, args[1]) == 0) fail(s, args[0], "division by zero:");
  return is_fixnum(args[0]) && is_fixnum(args[1]);
}
CRADLE_MAY_COLLECT static value quotient_row(scheme *s, size_t count, const value *args) {
  (void)count;
  if (check_division(s, args)) return new_integer(s, fixnum_of(args[0]) / fixnum_of(args[1]));
  return new_flonum(s, trunc(number_of(s, args[0]) / number_of(s, args[1])));
}
CRADLE_MAY_COLLECT static value remainder_row(scheme *s, size_t count, const value *args) {
  (void)count;
  if (check_division(s, args)) return fixnum(fixnum_of(args[0]) % fixnum_of(args[1]));
  return new_flonum(s, fmod(number_of(s, args[0]), number_of(s, args[1])));
}
CRADLE_MAY_COLLECT static value modulo_row(scheme *s, size_t count, const value *args) {
  (void)count;
  if (check_division(s, args)) {
    int64_t divisor = fixnum_of(args[1]), rest = fixnum_of(args[0]) % divisor;
    return fixnum(rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
  }
  double divisor = number_of(s, args[1]), rest = fmod(number_of(s, args[0]), divisor);
  return new_flonum(s, rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
}

/* --- order --- */

#define DEFINE_ORDER(name, sign) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    if (count == 2 && is_fixnum(args[0]) && is_fixnum(args[1])) \
      return boolean((int64_t)args[0] sign(int64_t) args[1]); \
    bool holds = true; \
    for (size_t i = 0; i + 1 < count; i++) holds &= number_of(s, args[i]) sign number_of(s, args[i + 1]); \
    return boolean(holds); \
  }
DEFINE_ORDER(equal_number_row, ==)
DEFINE_ORDER(less_row, <)
DEFINE_ORDER(greater_row, >)
DEFINE_ORDER(at_most_row, <=)
DEFINE_ORDER(at_least_row, >=)

CRADLE_MAY_COLLECT static value max_row(scheme *s, size_t count, const value *args) {
  size_t best = 0;
  for (size_t i = 0; i < count; i++)
    if (number_of(s, args[i]) > number_of(s, args[best])) best = i;
  return args[best];
}
CRADLE_MAY_COLLECT static value min_row(scheme *s, size_t count, const value *args) {
  size_t best = 0;
  for (size_t i = 0; i < count; i++)
    if (number_of(s, args[i]) < number_of(s, args[best])) best = i;
  return args[best];
}

/* --- one number --- */

#define DEFINE_TEST(name, test) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    (void)count; \
    double number = number_of(s, args[0]); \
    return boolean(test); \
  }
DEFINE_TEST(is_zero_row, number == 0)
DEFINE_TEST(is_positive_row, number > 0)
DEFINE_TEST(is_negative_row, number < 0)
DEFINE_TEST(is_odd_row, fmod(number, 2) != 0)
DEFINE_TEST(is_even_row, fmod(number, 2) == 0)
CRADLE_MAY_COLLECT static value is_number_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(is_number(args[0]));
}
CRADLE_MAY_COLLECT static value is_rational_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(is_fixnum(args[0]) ||
                 (is_a(args[0], T_FLONUM) && isfinite(((const flonum *)object_of(args[0]))->number)));
}
CRADLE_MAY_COLLECT static value is_integer_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(is_integer(args[0]));
}
CRADLE_MAY_COLLECT static value is_exact_row(scheme *s, size_t count, const value *args) {
  (void)count;
  number_of(s, args[0]);
  return boolean(is_fixnum(args[0]));
}
CRADLE_MAY_COLLECT static value is_inexact_row(scheme *s, size_t count, const value *args) {
  (void)count;
  number_of(s, args[0]);
  return boolean(!is_fixnum(args[0]));
}

#define DEFINE_REAL(name, expression) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    (void)count; \
    double number = number_of(s, args[0]); \
    return new_flonum(s, expression); \
  }
DEFINE_REAL(to_inexact_row, number)
DEFINE_REAL(sin_row, sin(number))
DEFINE_REAL(cos_row, cos(number))
DEFINE_REAL(tan_row, tan(number))
DEFINE_REAL(asin_row, asin(number))
DEFINE_REAL(acos_row, acos(number))
DEFINE_REAL(exp_row, exp(number))
DEFINE_REAL(log_row, log(number))

#define DEFINE_ROUND(name, function) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    (void)count; \
    if (is_fixnum(args[0])) return args[0]; \
    return new_flonum(s, function(number_of(s, args[0]))); \
  }
DEFINE_ROUND(floor_row, floor)
DEFINE_ROUND(ceiling_row, ceil)
DEFINE_ROUND(truncate_row, trunc)
DEFINE_ROUND(round_row, rint)
CRADLE_MAY_COLLECT static value atan_row(scheme *s, size_t count, const value *args) {
  double first = number_of(s, args[0]);
  return new_flonum(s, count == 2 ? atan2(first, number_of(s, args[1])) : atan(first));
}
CRADLE_MAY_COLLECT static value sqrt_row(scheme *s, size_t count, const value *args) {
  (void)count;
  double root = sqrt(number_of(s, args[0]));
  return whole(s, root, is_fixnum(args[0]) && root == floor(root));
}
CRADLE_MAY_COLLECT static value expt_row(scheme *s, size_t count, const value *args) {
  (void)count;
  double power = pow(number_of(s, args[0]), number_of(s, args[1]));
  return whole(s, power, is_fixnum(args[0]) && is_fixnum(args[1]) && power == floor(power) && fabs(power) < 0x1p53);
}
CRADLE_MAY_COLLECT static value to_exact_row(scheme *s, size_t count, const value *args) {
  (void)count;
  double number = number_of(s, args[0]);
  if (!is_integer(args[0]) || number > (double)FIXNUM_MAX || number < (double)FIXNUM_MIN)
    fail_type(s, args[0], "a whole number of 61 bits");
  return is_fixnum(args[0]) ? args[0] : fixnum((int64_t)number);
}
CRADLE_MAY_COLLECT static value abs_row(scheme *s, size_t count, const value *args) {
  (void)count;
  double number = number_of(s, args[0]);
  return number < 0 ? subtract(s, fixnum(0), args[0]) : args[0];
}

CRADLE_MAY_COLLECT static value gcd(scheme *s, value left, value right) {
  if (!is_fixnum(left)) fail_type(s, left, "a whole number of 61 bits");
  if (!is_fixnum(right)) fail_type(s, right, "a whole number of 61 bits");
  int64_t a = fixnum_of(left), b = fixnum_of(right);
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return new_integer(s, a < 0 ? -a : a);
}
CRADLE_MAY_COLLECT static value lcm(scheme *s, value left, value right) {
  value divisor = gcd(s, left, right);
  if (divisor == fixnum(0)) return divisor;
  // cradle-rootcheck: ok gcd has refused what is no fixnum
  int64_t part = fixnum_of(left) / fixnum_of(divisor);
  // cradle-rootcheck: ok gcd has refused what is no fixnum
  return multiply(s, fixnum(part < 0 ? -part : part), fixnum_of(right) < 0 ? fixnum(-fixnum_of(right)) : right);
}
CRADLE_MAY_COLLECT static value gcd_row(scheme *s, size_t count, const value *args) {
  return fold(s, count, args, fixnum(0), gcd);
}
CRADLE_MAY_COLLECT static value lcm_row(scheme *s, size_t count, const value *args) {
  return fold(s, count, args, fixnum(1), lcm);
}

const primitive_row number_rows[] = {
    {"+", add_row, 0, -1},
    {"-", subtract_row, 1, -1},
    {"*", multiply_row, 0, -1},
    {"/", divide_row, 1, -1},
    {"quotient", quotient_row, 2, 2},
    {"remainder", remainder_row, 2, 2},
    {"modulo", modulo_row, 2, 2},
    {"=", equal_number_row, 1, -1},
    {"<", less_row, 1, -1},
    {">", greater_row, 1, -1},
    {"<=", at_most_row, 1, -1},
    {">=", at_least_row, 1, -1},
    {"max", max_row, 1, -1},
    {"min", min_row, 1, -1},
    {"zero?", is_zero_row, 1, 1},
    {"positive?", is_positive_row, 1, 1},
    {"negative?", is_negative_row, 1, 1},
    {"odd?", is_odd_row, 1, 1},
    {"even?", is_even_row, 1, 1},
    {"number?", is_number_row, 1, 1},
    {"complex?", is_number_row, 1, 1},
    {"real?", is_number_row, 1, 1},
    {"rational?", is_rational_row, 1, 1},
    {"integer?", is_integer_row, 1, 1},
    {"exact?", is_exact_row, 1, 1},
    {"inexact?", is_inexact_row, 1, 1},
    {"exact->inexact", to_inexact_row, 1, 1},
    {"inexact->exact", to_exact_row, 1, 1},
    {"exact", to_exact_row, 1, 1},
    {"inexact", to_inexact_row, 1, 1},
    {"floor", floor_row, 1, 1},
    {"ceiling", ceiling_row, 1, 1},
    {"truncate", truncate_row, 1, 1},
    {"round", round_row, 1, 1},
    {"sin", sin_row, 1, 1},
    {"cos", cos_row, 1, 1},
    {"tan", tan_row, 1, 1},
    {"asin", asin_row, 1, 1},
    {"acos", acos_row, 1, 1},
    {"atan", atan_row, 1, 2},
    {"exp", exp_row, 1, 1},
    {"log", log_row, 1, 1},
    {"sqrt", sqrt_row, 1, 1},
    {"expt", expt_row, 2, 2},
    {"abs", abs_row, 1, 1},
    {"gcd", gcd_row, 0, -1},
    {"lcm", lcm_row, 0, -1},
};
const size_t number_row_count = sizeof number_rows / sizeof *number_rows;
