import assert from "@std/assert";
import { drawFigures } from "./picture.ts";

Deno.test("the picture of docs/performance.md is drawn from the figures beside it", async () => {
  const folder = new URL("../docs/pictures/", import.meta.url);
  const { benches } = JSON.parse(await Deno.readTextFile(new URL("performance.json", folder)));
  const picture = await Deno.readTextFile(new URL("performance.svg", folder));
  assert.equal(drawFigures(benches.relay.figures), picture);
  assert.match(picture, /bare fetch proxy.*gateway, PostgreSQL/s);
});

Deno.test("longer bars are more calls, and names are escaped", () => {
  const figure = (title: string, calls_per_second: number) => ({
    ...{ cell: "whole", contender: "bare", title, of_bare: null, calls_per_second },
    cpu_us_per_call: null,
  });
  const picture = drawFigures([figure("a<b", 100), figure("half", 50)]);
  const lengths = [...picture.matchAll(/height="16"/g)];
  assert.equal(lengths.length, 2);
  const [first, second] = [...picture.matchAll(/width="([\d.]+)" height="16"/g)].map(([, long]) =>
    Number(long)
  );
  assert.equal(first, 2 * second!);
  assert.match(picture, /a&lt;b/);
});
