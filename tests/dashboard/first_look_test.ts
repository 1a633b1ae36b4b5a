import assert from "@std/assert";
import { startDashboard } from "./world.ts";

Deno.test("smoke", async () => {
  await using world = await startDashboard();
  const browser = world.browser();
  console.log(world.greeting.join("\n"));
  console.log(await browser.get(world.claimLink));
  const owner = await world.owner();
  console.log(owner.cookies);
  console.log(await owner.get("/dashboard/keys"));
  for (
    const path of [
      "keys/new",
      "settings/vendor-keys",
      "settings/people",
      "settings/audit",
      "nope",
      "assets/style.css",
    ]
  ) {
    const { status, text } = await owner.get(`/dashboard/${path}`);
    console.log(path, status, text.length);
  }
  console.log(world.log.filter((l) => !/ info /.test(l)));
  assert.ok(true);
});
