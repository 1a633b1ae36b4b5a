import assert from "@std/assert";
import { counting } from "./counting.ts";

Deno.test("only the first content is looked at for results that no call precedes", () => {
  let reads = 0;
  const listed = (first: object) =>
    new Proxy([first, ...Array.from({ length: 1000 }, () => ({ parts: [{ text: "b" }] }))], {
      get(list, key, proxy) {
        if (/^\d+$/.test(String(key))) reads++;
        return Reflect.get(list, key, proxy);
      },
    });
  const plain = { contents: listed({ parts: [{ text: "a" }] }) };
  assert.equal(counting.standAlone!(plain), plain);
  assert.ok(reads < 10, `${reads}`);
  const single = { contents: { parts: [{ functionResponse: { response: { output: "1" } } }] } };
  assert.deepEqual(counting.standAlone!(single), { contents: [{ parts: [{ text: "1" }] }] });
});
