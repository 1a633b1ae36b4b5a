import assert from "@std/assert";
import { addressOfOwner, claimDataDir } from "../../src/database/data_dir.ts";
import { Child, withFolder } from "./children.ts";

async function refused(path: string, expected: RegExp): Promise<void> {
  await assert.rejects(claimDataDir(path), (thrown: unknown) => {
    const { message } = thrown as Error;
    assert.match(message, /^DATA_DIR=[^\n]+: (set|stop) [^\n]+\.$/);
    assert.match(message, expected);
    assert.ok(message.includes(path));
    return true;
  });
}

Deno.test("a second process names the one that holds the directory, until that one is killed", () =>
  withFolder(async (folder) => {
    await using holder = new Child("hold_data_dir.ts", folder);
    await holder.printed("holding");
    await refused(
      folder,
      new RegExp(`is held by process ${holder.pid} \\(http://127.0.0.1:4321\\): stop it`),
    );
    await holder.kill();
    const claim = await claimDataDir(folder);
    await refused(folder, new RegExp(`is held by process ${Deno.pid}: stop it`));
    await claim.release();
  }));

Deno.test("a copied directory, and that of a killed process, are no server's", () =>
  withFolder(async (folder) => {
    await using holder = new Child("hold_data_dir.ts", folder);
    await holder.printed("holding");
    await Deno.mkdir(`${folder}/copy`);
    for (const name of ["owner.lock", "owner.json"]) {
      await Deno.copyFile(`${folder}/${name}`, `${folder}/copy/${name}`);
    }
    const addresses = [folder, `${folder}/copy`].map(addressOfOwner);
    assert.deepEqual(await Promise.all(addresses), ["http://127.0.0.1:4321", undefined]);
    await holder.kill();
    assert.equal(await addressOfOwner(folder), undefined);
    // Asked in the moment of a start, it doesn't keep the new process from its directory.
    const asking = await Deno.open(`${folder}/owner.lock`);
    assert.ok(await asking.tryLock(false));
    setTimeout(() => asking.close(), 10);
    await (await claimDataDir(folder)).release();
  }));

Deno.test("a directory that was released can be claimed again, and names nobody", () =>
  withFolder(async (folder) => {
    const path = `${folder}/new/below`;
    const first = await claimDataDir(path);
    await first.describe({ address: "http://[::1]:1" });
    await refused(path, /held by process \d+ \(http:\/\/\[::1\]:1\)/);
    await first.release();
    await assert.rejects(Deno.stat(`${path}/owner.json`), Deno.errors.NotFound);
    const second = await claimDataDir(path);
    await second.release();
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o700, "nobody else may look into it");
  }));

Deno.test("a lock that outlives its owner's release for a moment is waited for", () =>
  withFolder(async (folder) => {
    // As a program has it that the owner was starting: a copy of what the owner had open.
    const left = await Deno.open(`${folder}/owner.lock`, { create: true, write: true });
    assert.ok(await left.tryLock(true));
    setTimeout(() => left.close(), 200);
    const claim = await claimDataDir(folder);
    await refused(folder, new RegExp(`is held by process ${Deno.pid}: stop it`));
    await claim.release();
  }));

Deno.test("an unreadable note on the owner doesn't get in the way", () =>
  withFolder(async (folder) => {
    const notes = ["", "{", "null", "[]", "7"];
    await Promise.all(notes.map(async (note, index) => {
      const path = `${folder}/${index}`;
      const claim = await claimDataDir(path);
      await Deno.writeTextFile(`${path}/owner.json`, note);
      await refused(path, /is held by another process: stop it/);
      await claim.release();
    }));
  }));

Deno.test("a path that is a file, or below one, is refused in one line", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await refused(`${folder}/file`, /can't be used/);
    await refused(`${folder}/file/below`, /can't be used/);
  }));

Deno.test("a directory that can't be written is refused in one line", async () => {
  // Not even root may write here.
  await refused("/proc/llm-gateway", /can't be used/);
});

Deno.test("a directory whose note can't be written is refused, and not held", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/owner.json`);
    await refused(folder, /can't be used/);
    await Deno.remove(`${folder}/owner.json`);
    const claim = await claimDataDir(folder);
    await claim.release();
  }));

Deno.test({
  name:
    "what Deno doesn't open, and a comma, which ends a path for the launcher, are named as the reason",
  permissions: { read: true, write: false },
  async fn() {
    const wayOut = /may not write there\): set DATA_DIR to .* not below \/dev, \/proc or \/sys,/;
    await assert.rejects(claimDataDir("/tmp/gateway"), wayOut);
    await assert.rejects(claimDataDir("/tmp/a,b"), /: set DATA_DIR to a path without commas\.$/);
  },
});
