import assert from "@std/assert";
import { createLog } from "../../src/base/log.ts";
import { claimProcessDir, workerDir, workerDirs } from "../../src/database/data_dir.ts";
import { damagedNames } from "../../src/records/journal/files.ts";
import { takeOverWorkers } from "../../src/main/worker_services.ts";
import { withFolder } from "./children.ts";

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(path.replace(/\/[^/]*$/, ""), { recursive: true });
  await Deno.writeTextFile(path, text);
}

function take(folder: string, left: readonly string[], recover = () => Promise.resolve()) {
  const lines: string[] = [];
  const ids: string[] = [];
  const taken = takeOverWorkers(left, {
    processDir: folder,
    log: createLog((line) => lines.push(line), () => new Date(0)),
    observe: () => {},
    recover: (_journal, processId) => {
      ids.push(processId);
      return recover();
    },
  });
  return taken.then(() => ({ lines, ids }));
}

Deno.test("rejected rows and unreadable bytes of a worker that has ended are stored beside ours", () =>
  withFolder(async (folder) => {
    const left = workerDir(folder, 3);
    await write(`${folder}/journal/rejected.jsonl`, "{1}\n");
    await write(`${folder}/journal/000000000002.journal.damaged`, "ours");
    await write(`${left}/journal/rejected.jsonl`, "{2}\n");
    await write(`${left}/journal/000000000002.journal.damaged`, "theirs");
    await write(`${left}/process-id`, "process-three");
    const { ids, lines } = await take(folder, [left]);
    assert.deepEqual([ids, lines], [["process-three"], []]);
    assert.equal(await Deno.readTextFile(`${folder}/journal/rejected.jsonl`), "{1}\n{2}\n");
    const damaged = [...Deno.readDirSync(`${folder}/journal`)].map(({ name }) => name)
      .filter((name) => name.endsWith(".damaged"));
    const texts = damaged.map((name) => Deno.readTextFileSync(`${folder}/journal/${name}`));
    assert.deepEqual(texts.toSorted(), ["ours", "theirs"]);
    assert.deepEqual(await workerDirs(folder), new Map());
  }));

Deno.test("what can't be taken over stays for the next start, and is logged", () =>
  withFolder(async (folder) => {
    const [second, third] = [workerDir(folder, 2), workerDir(folder, 3)];
    await Deno.mkdir(`${folder}/journal`);
    await write(`${second}/process-id`, "process-two");
    await write(`${second}/journal/rejected.jsonl`, "{2}\n");
    await write(`${second}/journal/000000000001.journal.damaged`, "bytes");
    await write(`${third}/process-id`, "process-three");
    let round = 0;
    const { lines } = await take(folder, [second, third], () => {
      if (round++ === 0) throw new Error("the store is away");
      return Promise.resolve();
    });
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, / error a worker's directory can't be taken over .*store is away/);
    assert.deepEqual([...await workerDirs(folder)], [[2, second]]);
    // Where deletions and retention reach them.
    assert.equal(await Deno.readTextFile(`${folder}/journal/rejected.jsonl`), "{2}\n");
    assert.equal((await damagedNames(`${folder}/journal`)).length, 1);
    assert.deepEqual(await damagedNames(`${second}/journal`), []);
    // It is let go of.
    (await claimProcessDir(second, 0)).close();
  }));

Deno.test("a directory whose journal still has records is not removed", () =>
  withFolder(async (folder) => {
    const left = workerDir(folder, 2);
    await Deno.mkdir(`${folder}/journal`);
    await write(`${left}/process-id`, "process-two");
    await write(`${left}/journal/000000000001.journal`, "");
    await write(`${left}/journal/rejected.jsonl`, "{2}\n");
    const { lines } = await take(folder, [left]);
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /neither the store nor a file takes/);
    assert.equal(await Deno.readTextFile(`${folder}/journal/rejected.jsonl`), "{2}\n");
    assert.deepEqual([...await workerDirs(folder)], [[2, left]]);
  }));

Deno.test("a directory that a worker still uses is waited for, then refused in one line", () =>
  withFolder(async (folder) => {
    const claim = await claimProcessDir(folder);
    await assert.rejects(
      claimProcessDir(folder, 100),
      /held by a worker of an earlier start: wait/,
    );
    const waiting = claimProcessDir(folder, 10_000);
    setTimeout(() => claim.close(), 100);
    (await waiting).close();
  }));

Deno.test("only numbered directories are workers'", () =>
  withFolder(async (folder) => {
    assert.deepEqual(await workerDirs(folder), new Map());
    for (const name of ["10", "2", "0", "x", "2b", "12345"]) {
      await Deno.mkdir(`${folder}/workers/${name}`, { recursive: true });
    }
    assert.deepEqual([...(await workerDirs(folder)).keys()], [2, 10]);
    assert.equal(workerDir(folder, 1), folder);
  }));
