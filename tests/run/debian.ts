import type { Outcome } from "./outcome.ts";
import type { Ended } from "./processes.ts";

/** A Debian package that tests need, and how to tell that it is installed. */
export interface DebianPackage {
  readonly name: string;
  /** What can't be tested without it, for the message. */
  readonly neededFor: string;
  present(): boolean;
  /** Whether another program can take its place if it can't be installed. */
  replaced?(): boolean;
}

/** What installing needs from the machine; this file's tests pass a fake. */
export interface DebianMachine {
  readonly isRoot: boolean;
  readonly hasApt: boolean;
  aptGet(args: readonly string[]): Promise<Ended>;
}

/**
 * Installs missing packages if that is allowed. Returns an outcome with a line for each thing that
 * stays untested; null if everything can be tested.
 */
export async function ensurePackages(
  packages: readonly DebianPackage[],
  machine: DebianMachine,
  say: (line: string) => void,
): Promise<Outcome | null> {
  const missing = packages.filter((each) => !each.present());
  if (missing.length === 0) return null;
  const names = missing.map((each) => each.name);
  if (!machine.isRoot || !machine.hasApt) {
    const why = machine.hasApt ? "only root may install it" : "this machine has no apt-get";
    return skipped(missing, why, "");
  }
  say(`Installing Debian packages: ${names.join(", ")}`);
  const update = await machine.aptGet(["update"]);
  // Even after a failed update the mirror may have the package, so only the install counts.
  const install = await machine.aptGet(["install", "--yes", "--no-install-recommends", ...names]);
  const left = missing.filter((each) => !each.present());
  const output = update.ok ? install.output : update.output + install.output;
  return skipped(left, "apt-get could not install it", output);
}

/** Returns the packages that the tests of this tree need. */
export function neededPackages(root: string): DebianPackage[] {
  const packages: DebianPackage[] = [
    {
      name: "postgresql",
      neededFor: "tests on a real PostgreSQL",
      present: () => debianPostgres() || inPath("postgres"),
    },
  ];
  if (exists(`${root}/tests/browser`)) {
    packages.push({
      name: "chromium-headless-shell",
      neededFor: "browser tests",
      present: () => inPath("chromium-headless-shell"),
      replaced: () => inPath("chromium"),
    });
  }
  if (exists(`${root}/packaging/monitoring/alerts.test.yaml`)) {
    packages.push({
      name: "prometheus",
      neededFor: "alert rules tried by promtool",
      present: () => inPath("promtool"),
    });
  }
  if (exists(`${root}/tests/support/media_tools.ts`)) {
    const neededFor = "opening of made pictures and sounds";
    packages.push(
      { name: "file", neededFor, present: () => inPath("file") },
      { name: "ffmpeg", neededFor, present: () => inPath("ffprobe") },
      { name: "imagemagick", neededFor, present: () => inPath("identify") },
    );
  }
  return packages;
}

/** Returns apt on this machine. `policy-rc.d` keeps packages from starting their services. */
export function debianMachine(
  run: (program: string, args: readonly string[]) => Promise<Ended>,
): DebianMachine {
  return {
    isRoot: Deno.uid() === 0,
    hasApt: inPath("apt-get"),
    aptGet: (args) =>
      withoutServices(() => run("apt-get", ["-o", "DPkg::Lock::Timeout=120", ...args])),
  };
}

async function withoutServices<T>(work: () => Promise<T>): Promise<T> {
  const policy = "/usr/sbin/policy-rc.d";
  if (exists(policy)) return await work();
  Deno.writeTextFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    return await work();
  } finally {
    Deno.removeSync(policy);
  }
}

/** Returns the outcome for missing packages; null if other programs replace all of them. */
function skipped(missing: readonly DebianPackage[], why: string, details: string): Outcome | null {
  const packages = missing.filter((each) => !each.replaced?.());
  if (packages.length === 0) return null;
  const notes = packages.map((each) =>
    `skipped ${each.neededFor}: Debian package ${each.name} is missing and ${why}`
  );
  return {
    name: "packages",
    passed: 0,
    failed: 0,
    skipped: packages.length,
    seconds: 0,
    notes,
    details,
  };
}

/** Whether Debian's PostgreSQL is installed, whose server programs aren't in PATH. */
function debianPostgres(): boolean {
  const versions = "/usr/lib/postgresql";
  if (!exists(versions)) return false;
  return [...Deno.readDirSync(versions)].some((entry) =>
    exists(`${versions}/${entry.name}/bin/postgres`)
  );
}

function inPath(program: string): boolean {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  return [...folders, "/usr/bin", "/usr/sbin"].some((folder) =>
    folder !== "" && exists(`${folder}/${program}`)
  );
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
