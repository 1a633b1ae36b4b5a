import assert from "@std/assert";
import { JsonCount, type JsonLimits } from "./json_count.ts";

const wide: JsonLimits = { values: 1e9, depth: 128, members: 1e9, names: 1e6 };

const objectOf = (names: number, repeats = 1) => {
  const members = Array.from({ length: names }, (_, at) => `"name${at}":0`);
  return `[${Array.from({ length: repeats }, () => `{${members}}`)}]`;
};

Deno.test("names are counted once each, few or many, in one piece or many", () => {
  for (const names of [1, 1000, 1023, 1024, 1025, 3000]) {
    // Two names may have the same hash, which counts as one: not ten of them.
    const refused = (limit: number, size: number) => {
      const count = new JsonCount({ ...wide, names: limit }, undefined, 7);
      const text = objectOf(names, 3);
      for (let at = 0; at < text.length; at += size) count.add(text.slice(at, at + size));
      return count.excess;
    };
    for (const size of [1e9, 1000, 7]) {
      assert.equal(refused(names, size), undefined, `${names}`);
      assert.equal(refused(Math.max(0, names - 10), size), "names", `${names}`);
    }
  }
});

Deno.test("names that differ only behind a backslash count as different, in any pieces", () => {
  const text = JSON.stringify({ "a\n": 0, "a\t": 0, "a\\": 0, 'a"': 0, "a": 0 });
  for (let size = 1; size <= text.length; size++) {
    const excess = (names: number) => {
      const count = new JsonCount({ ...wide, names }, undefined, 7);
      for (let at = 0; at < text.length; at += size) count.add(text.slice(at, at + size));
      return count.excess;
    };
    assert.deepEqual([excess(5), excess(4)], [undefined, "names"], `by ${size}`);
  }
});

Deno.test("names above 16,000 characters are counted, in one piece or many", () => {
  const cases = [[16_000, 0], [16_001, 0, "longNames"], [16_001, 2], [
    16_001,
    1,
    "longNames",
  ]] as const;
  for (const [units, longNames, excess] of cases) {
    for (const name of ["n".repeat(units), '\\"'.repeat(24) + "n".repeat(units - 48)]) {
      const text = `[{"a":"${name}${name}","${name}":0,"b":{"${name}":1}}]`;
      for (const size of [1e9, 7]) {
        const count = new JsonCount({ ...wide, longNames });
        for (let at = 0; at < text.length; at += size) count.add(text.slice(at, at + size));
        assert.equal(count.excess, excess, `${units}, ${longNames}, by ${size}`);
      }
    }
  }
});

Deno.test("a string behind one with an escaped quote is counted like any", () => {
  for (const next of ["", "\\", '"', "\n", "b"]) {
    const values = ['say "a"', next, "c", { 'say "a"': [], [next]: 'say "a"' }, next];
    const text = JSON.stringify(values);
    for (let size = 1; size <= text.length; size++) {
      const count = new JsonCount(wide);
      for (let at = 0; at < text.length; at += size) count.add(text.slice(at, at + size));
      assert.deepEqual([count.values, count.isBroken], [8, false], `${text} by ${size}`);
    }
  }
});

Deno.test("counting a small text takes little memory beside it", () => {
  const text = objectOf(20);
  const before = Deno.memoryUsage().external;
  const counts = Array.from({ length: 200 }, () => {
    const count = new JsonCount(wide);
    assert.equal(count.add(text), undefined);
    return count;
  });
  const bytes = (Deno.memoryUsage().external - before) / counts.length;
  assert.ok(bytes < 4096, `${bytes} bytes each`);
});

Deno.test("white space or a number goes on for so many characters at most, over all pieces", () => {
  const within = [
    '{"a":#}',
    "[1,#,[]]",
    '#{"a":1}',
    '{"a":1}#',
    '{"a"#:1,"b":""}',
    '{#"a":1}',
    "#",
  ];
  for (const unit of [" ", "\n", "7"]) {
    for (const template of within) {
      const text = (units: number) => template.replace("#", unit.repeat(units));
      const excess = (units: number) => {
        const count = new JsonCount({ ...wide, bare: 1_000 });
        for (let at = 0; at < text(units).length; at += 100) {
          count.add(text(units).slice(at, at + 100));
        }
        return count.excess;
      };
      assert.equal(excess(900), undefined, template);
      assert.equal(excess(1_200), "bare", template);
    }
  }
  const count = new JsonCount({ ...wide, bare: 100 });
  for (const piece of ['{"a":"', " ".repeat(500), "1".repeat(500), '\\"']) count.add(piece);
  assert.equal(count.excess, undefined, "a string isn't bare");
});
