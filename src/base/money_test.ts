import assert from "@std/assert";
import { nanosToUsd, parseUsd, roundPicoToNano } from "./money.ts";

Deno.test("a decimal string becomes exact units", () => {
  const cases: [string, number, bigint][] = [
    ["0", 9, 0n],
    ["5", 9, 5_000_000_000n],
    ["0.25", 12, 250_000_000_000n],
    ["0.0028", 6, 2_800n],
    ["3.125", 6, 3_125_000n],
    ["0.003625", 6, 3_625n],
    ["007.10", 2, 710n],
    ["1.5000000000000", 2, 150n],
    ["123456789012345678901234567890.1", 1, 1234567890123456789012345678901n],
  ];
  for (const [text, scale, expected] of cases) assert.equal(parseUsd(text, scale), expected, text);
});

Deno.test("anything but a plain decimal string is refused, and quoted", () => {
  for (
    const text of [
      "",
      " 1",
      "1 ",
      "+1",
      "-1",
      ".5",
      "1.",
      "1,5",
      "1e3",
      "0x10",
      "NaN",
      "1_000",
      "$1",
      "١",
    ]
  ) {
    assert.throws(() => parseUsd(text, 9), {
      name: "RangeError",
      message: `expected a decimal string such as "0.25", got ${JSON.stringify(text)}`,
    });
  }
  assert.throws(() => parseUsd("9".repeat(65), 9), /at most 64 characters/);
});

Deno.test("more decimals than the unit holds are an error unless cutting was asked for", () => {
  assert.throws(() => parseUsd("0.0000000001", 9), /at most 9 decimals, got "0.0000000001"/);
  assert.equal(parseUsd("0.0000000019", 9, { excess: "down" }), 1n);
  assert.equal(parseUsd("0.0000000011", 9, { excess: "up" }), 2n);
  assert.equal(parseUsd("0.0000000010", 9, { excess: "up" }), 1n);
});

Deno.test("exponent and sign are read only where allowed", () => {
  assert.equal(parseUsd("7.5e-08", 12, { allowExponent: true }), 75_000n);
  assert.equal(parseUsd("1E+2", 0, { allowExponent: true }), 100n);
  assert.equal(parseUsd("1e-400", 12, { allowExponent: true, excess: "down" }), 0n);
  assert.equal(parseUsd("-0.5", 1, { allowNegative: true }), -5n);
  assert.throws(() => parseUsd("1e9999", 12, { allowExponent: true }), RangeError);
});

Deno.test("nano-dollars are shown with nine decimals and a sign", () => {
  const cases: [bigint, string][] = [
    [0n, "0.000000000"],
    [1n, "0.000000001"],
    [-1n, "-0.000000001"],
    [54_399_000n, "0.054399000"],
    [-10_500_000_000n, "-10.500000000"],
    [10n ** 27n, "1000000000000000000.000000000"],
  ];
  for (const [nanos, usd] of cases) {
    assert.equal(nanosToUsd(nanos), usd);
    assert.equal(parseUsd(usd, 9, { allowNegative: true }), nanos);
  }
});

Deno.test("pico-dollars round half up to nano-dollars", () => {
  const cases: [bigint, bigint][] = [
    [0n, 0n],
    [499n, 0n],
    [500n, 1n],
    [1499n, 1n],
    [1500n, 2n],
    [-500n, 0n],
    [-501n, -1n],
    [-1500n, -1n],
  ];
  for (const [pico, nanos] of cases) assert.equal(roundPicoToNano(pico), nanos, String(pico));
});

Deno.test("nearest rounds half away from zero, on both sides of it", () => {
  const nearest = (text: string) =>
    parseUsd(text, 2, { excess: "nearest", allowNegative: true, allowExponent: true });
  assert.deepEqual(["0.004", "0.005", "0.015", "-0.005", "-0.0049", "4.9e-3"].map(nearest), [
    ...[0n, 1n, 2n, -1n, 0n, 0n],
  ]);
});
