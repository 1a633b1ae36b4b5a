import assert from "@std/assert";
import { connectionsByDescriptors } from "./descriptors.ts";

/** A process that may open so many files. */
function filesOf(limit: number) {
  const files = { open: 0 };
  const open = () => {
    if (files.open >= limit) throw new Error("Too many open files");
    files.open++;
    return { close: () => void files.open-- };
  };
  return { files, open };
}

Deno.test("few descriptors mean fewer connections, and all are released", () => {
  for (
    const [limit, ofDatabase, connections] of [
      [56, 0, 8],
      [234, 0, 66],
      [234, 64, 8],
      [1000, 0, 480],
      [1000, 250, 355],
      [5000, 400, undefined],
    ] as const
  ) {
    const { files, open } = filesOf(limit);
    assert.equal(connectionsByDescriptors(open, () => ofDatabase), connections);
    assert.equal(files.open, 0);
  }
});

Deno.test("too few descriptors are refused with the limit that is needed", () => {
  for (const [limit, ofDatabase] of [[55, 0], [119, 64]] as const) {
    const { files, open } = filesOf(limit);
    assert.throws(
      () => connectionsByDescriptors(open, () => ofDatabase),
      new RegExp(`only ${limit} more files .ulimit -n., and needs ${ofDatabase + 56}: raise`),
    );
    assert.equal(files.open, 0);
  }
});
