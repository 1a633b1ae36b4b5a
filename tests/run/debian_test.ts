import assert from "@std/assert";
import { type DebianMachine, type DebianPackage, ensurePackages } from "./debian.ts";

/** A fake machine on which installing succeeds or fails; it records the calls of apt-get. */
function machine(options: { isRoot?: boolean; hasApt?: boolean; installs?: boolean }) {
  const { isRoot = true, hasApt = true, installs = true } = options;
  const asked: string[] = [];
  let there = false;
  const fake: DebianMachine = {
    isRoot,
    hasApt,
    aptGet: (args) => {
      asked.push(args.join(" "));
      if (args[0] === "install" && installs) there = true;
      const code = installs ? 0 : 100;
      return Promise.resolve({
        ok: installs,
        code,
        timedOut: false,
        output: "apt says",
        seconds: 1,
        cpuSeconds: 1,
      });
    },
  };
  const needed: DebianPackage = {
    name: "postgresql",
    neededFor: "real PostgreSQL",
    present: () => there,
  };
  return { fake, asked, needed };
}

const quiet = () => {};

Deno.test("what is there is not installed", async () => {
  const { fake, asked, needed } = machine({});
  const there = { ...needed, present: () => true };
  assert.equal(await ensurePackages([there], fake, quiet), null);
  assert.deepEqual(asked, []);
});

Deno.test("root installs what is missing, after an update, and says so", async () => {
  const { fake, asked, needed } = machine({});
  const said: string[] = [];
  assert.equal(await ensurePackages([needed], fake, (line) => said.push(line)), null);
  assert.deepEqual(asked, ["update", "install --yes --no-install-recommends postgresql"]);
  assert.deepEqual(said, ["Installing Debian packages: postgresql"]);
});

Deno.test("who may not install is told in one line what is skipped and why", async () => {
  for (
    const [options, why] of [
      [{ isRoot: false }, /real PostgreSQL: .*postgresql is missing and only root may/],
      [{ hasApt: false }, /has no apt-get/],
      [{ installs: false }, /apt-get could not install it/],
    ] as const
  ) {
    const { fake, needed } = machine(options);
    const outcome = await ensurePackages([needed], fake, quiet);
    assert.equal(outcome?.skipped, 1);
    assert.match(outcome?.notes.join("\n") ?? "", why);
    assert.equal(await ensurePackages([{ ...needed, replaced: () => true }], fake, quiet), null);
  }
});
