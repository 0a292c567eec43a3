// Values in words: of axes and of what is under the pointer.

const NOT_KNOWN = "not known";

function number(value, digits = 4) {
  if (value === 0) return "0";
  const text =
    Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  return text.includes("e") ? text : String(Number(text));
}

// Microseconds in the unit that suits them.
function duration(us) {
  if (us === 0) return "0";
  if (us < 1) return number(us * 1e3, 3) + " ns";
  if (us < 1e3) return number(us, 3) + " us";
  if (us < 1e6) return number(us / 1e3, 3) + " ms";
  return number(us / 1e6, 3) + " s";
}

// x is 1 / (the share of what is longer): 100 is the 99th percentile.
function percentile(x) {
  if (x < 1) return "";
  const digits = Math.max(0, Math.ceil(Math.log10(x) - 1e-9) - 2) + (Number.isInteger(Math.log10(x)) ? 0 : 1);
  return (100 * (1 - 1 / x)).toFixed(Math.min(digits, 7)) + " %";
}

// Of an axis: how its ticks are written, those of the lower axis, and its values under the pointer.
function formats(axis) {
  if (axis.quantity === "time") return { tick: duration, end: duration, value: duration };
  if (axis.quantity === "percentile") return { tick: percentile, end: percentile, value: percentile };
  if (axis.quantity === "class") {
    const name = (index) => (Number.isInteger(index) && axis.names[index]) || "";
    return { tick: name, end: name, value: name };
  }
  const unit = axis.unit ? " " + axis.unit : "";
  const whole = (value) => number(value) + unit;
  return { tick: (value) => number(value), end: whole, value: whole };
}

// The place of the item of the sorted xs that is nearest to x; before: that is not behind it; after: not before it.
function place(xs, x, side = "nearest") {
  let low = 0,
    high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  // low: the first that is not before x.
  if (side === "after") return low < xs.length ? low : -1;
  if (side === "before") return low < xs.length && xs[low] === x ? low : low - 1;
  if (low === 0) return xs.length ? 0 : -1;
  if (low === xs.length) return low - 1;
  return x - xs[low - 1] <= xs[low] - x ? low - 1 : low;
}
