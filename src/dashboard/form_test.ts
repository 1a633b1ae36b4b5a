import assert from "@std/assert";
import { Form, usualFormBytes } from "./form.ts";

Deno.test("a form that names one field as often as fits is held once, not once for each", () => {
  const times = usualFormBytes / 2;
  const values = new Form(new URLSearchParams("b=1&" + "a&".repeat(times))).values();
  assert.deepEqual(Object.keys(values), ["b", "a"]);
  assert.equal(values.a!.length, times);
  assert.deepEqual(values.b, ["1"]);
});
