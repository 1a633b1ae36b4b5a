import assert from "@std/assert";
import { TextUnits } from "./text_units.ts";

Deno.test("places in characters and in UTF-16 units are turned into each other, however a text came", () => {
  const text = "a😀b𝒳c— ünder 🇩🇪 end";
  const points = [...text];
  for (const size of [1, 2, 3, text.length]) {
    const units = new TextUnits();
    for (let at = 0; at < text.length; at += size) units.add(text.slice(at, at + size));
    let place = 0;
    for (let index = 0; index <= points.length; index++) {
      assert.equal(units.unitsAt(index), place, `character ${index} in pieces of ${size}`);
      assert.equal(units.pointsAt(place), index, `unit ${place} in pieces of ${size}`);
      place += points[index]?.length ?? 0;
    }
    assert.equal(units.length, text.length);
  }
});
