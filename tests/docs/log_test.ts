/** What docs/log.md says of the log, and that its configurations do what they are for. */
import assert from "@std/assert";
import { logEvents } from "../../src/main/log_events.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { snippetsOf } from "./snippets.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
const page = await Deno.readTextFile(`${root}/docs/log.md`);
const directory = temporaryDirectory("log");

Deno.test("the page has every event with its levels and message, and no other", async () => {
  const levels = await levelsIn(`${root}/src`);
  const rows = page.split("## Events\n")[1]!.split("\n").flatMap((line) => {
    const [, event, level, message] = /^\| `([\w.]+)` +\| ([a-z, ]+?) +\| (.*?) +\|$/.exec(line) ??
      [];
    return event === undefined ? [] : [{ event, level: level!, message: message! }];
  });
  const shown = new Map(rows.map(({ event, message }) => [event, message]));
  assert.equal(shown.size, rows.length);
  const wanted = Object.entries(logEvents).map(([message, event]) => [event, message] as const);
  for (const [event, message] of wanted) assert.equal(shown.get(event), message, event);
  const known = new Set<string>([...wanted.map(([event]) => event), "start.greeting"]);
  assert.deepEqual(rows.map(({ event }) => event).filter((event) => !known.has(event)), []);
  for (const { event, level, message } of rows) {
    const used = levels.get(message);
    if (used !== undefined) assert.equal(level, [...used].sort().join(", "), event);
  }
});

/** The levels at which the code logs each message that it names where it does. */
async function levelsIn(folder: string): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) {
      for (const [message, levels] of await levelsIn(path)) {
        found.set(message, levels.union(found.get(message) ?? new Set()));
      }
    } else if (/\.tsx?$/.test(name) && !/_test\.tsx?$/.test(name)) {
      const text = await Deno.readTextFile(path);
      for (const [, level, literal] of text.matchAll(logged)) {
        const message: string = JSON.parse(literal!);
        found.set(message, new Set([level!, ...found.get(message) ?? []]));
      }
    }
  }
  return found;
}

const logged = /\b(info|warn|error)\(\s*("(?:[^"\\]|\\.)*")/g;

const jq = programAt("/usr/bin/jq", "/usr/local/bin/jq");

Deno.test({
  name: `the page's jq passes over lines that are no JSON${jq ? "" : " (skipped: no jq)"}`,
  ignore: jq === undefined,
  async fn() {
    const filters = [...page.matchAll(/ \| (jq .*?'.*')/g)].map(([, command]) => command!);
    assert.equal(filters.length, 2);
    const line = { level: "error", id: "THE-ID" };
    const log = `New key: dmt_…\n{"level":"info","id":"another"}\n${JSON.stringify(line)}\n`;
    await Deno.writeTextFile(`${directory}/lines`, log);
    for (const filter of filters) {
      const { success, stdout } = await new Deno.Command("/bin/sh", {
        args: ["-c", `${filter} <${directory}/lines`],
      }).output();
      assert.ok(success, filter);
      assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), line);
    }
  },
});

/** A block of the page by the path that its first line names. */
function block(path: string): string {
  const found = snippetsOf(page).find(({ text }) => text.startsWith(`# ${path}\n`));
  if (found === undefined) throw new Error(`no block for ${path}`);
  return found.text + "\n";
}

/** The programs belong to the machine: where they are not, there is nothing to show. */
function programAt(...paths: string[]): string | undefined {
  return paths.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

async function run(program: string, args: string[], env: Record<string, string> = {}) {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, env }).output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return { success, output };
}

const logrotate = programAt("/usr/sbin/logrotate", "/usr/bin/logrotate");
if (logrotate !== undefined) {
  Deno.test("logrotate cuts the log of a running service, which goes on in the same file", async () => {
    const folder = `${directory}/demeter`;
    await Deno.mkdir(folder, { mode: 0o700 });
    const file = `${folder}/demeter.log`;
    const config = block("/etc/logrotate.d/demeter").replace("/var/log/demeter", folder);
    await Deno.writeTextFile(`${directory}/logrotate.conf`, config, { mode: 0o600 });
    // Standard output as the page has it: opened once, to append.
    const service = new Deno.Command("sh", {
      args: ["-c", `exec cat >> '${file}'`],
      stdin: "piped",
    })
      .spawn();
    const writer = service.stdin.getWriter();
    const write = async (line: string) => {
      const before = (await Deno.stat(file).catch(() => undefined))?.size ?? 0;
      await writer.write(new TextEncoder().encode(`${line}\n`));
      while (((await Deno.stat(file).catch(() => undefined))?.size ?? 0) <= before) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const rotate = async () => {
      const state = `${directory}/state`;
      const { success, output } = await run(logrotate, [
        ...["--force", "--state", state, `${directory}/logrotate.conf`],
      ]);
      assert.ok(success, output);
      assert.doesNotMatch(output, /error|unknown/i);
    };
    await write("first");
    await rotate();
    await write("second");
    assert.equal(await Deno.readTextFile(file), "second\n", "no hole, nothing twice");
    const rotated = [...Deno.readDirSync(folder)].filter(({ name }) => name !== "demeter.log");
    assert.match(rotated[0]!.name, /^demeter\.log-\d{8}-\d+$/);
    assert.equal(await Deno.readTextFile(`${folder}/${rotated[0]!.name}`), "first\n");
    await writer.close();
    assert.ok((await service.status).success);
  });
}

const analyze = programAt("/usr/bin/systemd-analyze");
if (analyze !== undefined) {
  Deno.test("systemd takes the unit, and the drop-in that gives it a log of its own", async () => {
    const folder = `${directory}/units`;
    await Deno.mkdir(`${folder}/demeter.service.d`, { recursive: true });
    const unit = await Deno.readTextFile(`${root}/packaging/demeter.service`);
    assert.match(unit, /^LogRateLimitIntervalSec=0$/m);
    // The program need not be installed here.
    await Deno.writeTextFile(
      `${folder}/demeter.service`,
      unit.replace("/opt/demeter/demeter start", "/bin/true"),
    );
    const path = "/etc/systemd/system/demeter.service.d/log.conf";
    const verify = () =>
      run(analyze, ["verify", "demeter.service"], { SYSTEMD_UNIT_PATH: `${folder}:` });
    const dropIn = `${folder}/demeter.service.d/log.conf`;
    await Deno.writeTextFile(dropIn, block(path));
    assert.doesNotMatch((await verify()).output, /demeter\.service/);
    await Deno.writeTextFile(dropIn, block(path).replace("LogNamespace", "LogNamespaces"));
    assert.match((await verify()).output, /Unknown key 'LogNamespaces'/, "a slip would show");
  });
}

const journald = programAt("/lib/systemd/systemd-journald", "/usr/lib/systemd/systemd-journald");
const mayMount = Deno.uid() === 0 &&
  (await run("unshare", ["-m", "true"]).catch(() => ({ success: false }))).success;
if (journald !== undefined && mayMount) {
  Deno.test("journald takes the bounds of the log's own namespace", async () => {
    const name = "journald@demeter.conf";
    await Deno.writeTextFile(`${directory}/${name}`, block(`/etc/systemd/${name}`));
    // In mounts of its own, so that nothing of it is left on the machine.
    const script = `set -e
      for each in /run /var/log /etc/systemd; do mount -t tmpfs none $each; done
      mkdir -p /run/log /run/systemd/journal.demeter
      cp '${directory}/${name}' /etc/systemd/
      SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=debug ${journald} demeter > /run/said 2>&1 &
      until grep -q 'running as PID' /run/said; do kill -0 $! && sleep 0.05; done
      kill $!
      cat /run/said`;
    const { output } = await run("unshare", ["-m", "sh", "-c", script]);
    assert.match(output, /running as PID \d+ for namespace 'demeter'/);
    assert.match(output, / max_use=2\.0G /);
    assert.match(output, /rate limit interval and burst from 0,\d+ to 0,0/);
    assert.doesNotMatch(output, /Unknown key|Failed to parse/);
  });
}
