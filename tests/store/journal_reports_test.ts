/** What the journal reports of a disk whose writes fail. */
import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { FailingDisk } from "../support/failing_disk.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

Deno.test("a disk that is full again and again is reported twice a minute", () =>
  withFolder(async (folder) => {
    const disk = new FailingDisk();
    const clock = new FakeClock();
    const journal = await openJournal(folder, { sync: "always", clock, createFile: disk.create });
    journal.observe({
      failing: (reason) => disk.told.push(reason),
      mended: () => disk.told.push("mended"),
      ...{ synced() {}, lost() {}, unreadable() {} },
    });
    const begin = (id: string) => journal.begin(interaction(7, id, { status: "interrupted" }));
    const isRefused = () => assert.throws(() => begin("refused"), { code: "overloaded" });
    const full = "No space left on device (os error 28)";
    for (let times = 0; times < 20; times++) {
      disk.space = 100;
      isRefused();
      disk.space = Infinity;
      begin(`${times}`);
      await journal.end(interaction(7, `${times}`));
      clock.advance(1_000);
    }
    assert.deepEqual(disk.told.splice(0), [full, "mended"]);
    disk.space = 100;
    isRefused();
    assert.deepEqual(disk.told, []);
    clock.advance(10_000);
    isRefused();
    assert.deepEqual(disk.told, [full], "still full when the half minute is over");
    await journal.close();
  }));
