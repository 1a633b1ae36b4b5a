import assert from "@std/assert";
import { Fault } from "../../shared/fault.ts";
import { asRowFault } from "./faults.ts";

const coded = (code: string) => Object.assign(new Error(`of ${code}`), { code });

for (
  const [what, code] of [
    ["a value out of range", "22003"],
    ["a byte that is no text", "22021"],
    ["an account that is gone", "23503"],
    ["a row that is too large", "54000"],
    ["what has no code of its own", "XX000"],
  ] as const
) {
  Deno.test(`${what} (${code}) counts against the row`, () => {
    const thrown = coded(code);
    assert.equal(asRowFault(thrown), thrown);
  });
}

for (
  const [what, code] of [
    ["a full disk", "53100"],
    ["no memory", "53200"],
    ["a deadlock", "40P01"],
    ["a cancelled query", "57014"],
    ["a server that only reads", "25006"],
    ["a table that is missing", "42P01"],
    ["a right that is missing", "42501"],
    ["an error of its disk", "58030"],
  ] as const
) {
  Deno.test(`${what} (${code}) counts as a store that is away, and is named in the note`, () => {
    const fault = asRowFault(coded(code));
    if (!(fault instanceof Fault)) throw new Error("it stayed as it was");
    assert.equal(fault.code, "store_unavailable");
    assert.match(fault.note ?? "", new RegExp(`${code}.*of ${code}`));
  });
}

Deno.test("an error that is not the database's counts against the row", () => {
  const bug = new TypeError("x is undefined");
  assert.equal(asRowFault(bug), bug);
  const driver = Object.assign(new Error("too many"), { code: "MAX_PARAMETERS_EXCEEDED" });
  assert.equal(asRowFault(driver), driver);
});
