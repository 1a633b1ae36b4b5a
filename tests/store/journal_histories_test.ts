/** Random histories of a small journal, in which the process or the machine dies at any write. */
import { isDeepStrictEqual } from "node:util";
import assert from "@std/assert";
import { sha256Hex } from "../../src/base/hash.ts";
import type { Fault } from "../../src/shared/fault.ts";
import { finish } from "../../src/base/steps.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { Media } from "../../src/shared/media.ts";
import { recordOf } from "../../src/records/journal/calls.ts";
import { createRoom, encodeRecord } from "../../src/records/journal/records.ts";
import { type Journal, openJournal } from "../../src/records/journal/journal.ts";
import { createSegmentFile, type SegmentFile } from "../../src/records/journal/segment_file.ts";
import { RacingClock } from "../support/racing_clock.ts";
import { Random, seeds } from "../support/random.ts";
import { withFolder } from "./children.ts";
import { interaction } from "./samples.ts";

/** More by `JOURNAL_HISTORIES`. */
const histories = Number(Deno.env.get("JOURNAL_HISTORIES") ?? 3);
const maxBytes = 64 * 1024;

interface CallState {
  begun: SettledCall;
  /** Whether its beginning is in a file. */
  isBegun: boolean;
  ended?: SettledCall;
  /** An end was passed to the journal; it may be in a file already. */
  isEnding?: boolean;
  isConfirmed?: boolean;
  /** A later end was confirmed, so that its beginning is on the disk as well. */
  isSafe?: boolean;
  isStored?: boolean;
}

class World {
  readonly calls = new Map<string, CallState>();
  /** What is on the disk for certain, by file; one that was rewritten is another file. */
  readonly synced = new Map<string, number>();
  /** Looks at the files now and then; set by the test. */
  look = () => {};
  written = 0;
  inPieces = 0;

  create = (path: string): SegmentFile => {
    const file = createSegmentFile(path);
    const { ino } = Deno.statSync(path);
    const key = `${path} ${ino}`;
    this.synced.set(key, 0);
    let length = 0;
    return {
      writeSync: (bytes, recordLength) => {
        this.look();
        length += file.writeSync(bytes, recordLength);
        this.written += bytes.length;
        return bytes.length;
      },
      truncateSync: (to) => file.truncateSync(length = to),
      syncData: async () => {
        const certain = length;
        this.look();
        // So long a crash of the machine may take what was written. There is no real sync:
        // these crashes are simulated, and on a slow disk a history would have few writes.
        await new Promise((resolve) => setTimeout(resolve));
        this.synced.set(key, Math.max(certain, this.synced.get(key)!));
      },
      readSync: (length) => file.readSync(length),
      close: () => file.close(),
    };
  };
}

Deno.test("whenever process or machine dies, each call is found once, as far as it had come", async () => {
  let crashes = 0;
  let moved = 0;
  let inPieces = 0;
  for (const seed of seeds(histories)) {
    await withFolder(async (parent) => {
      const folder = `${parent}/journal`;
      const world = new World();
      const random = new Random(seed);
      const journal = await openJournal(folder, {
        ...{ sync: "always", maxBytes, createFile: world.create },
        // Some records are written in many pieces, with other work after each of them.
        ...{ pieceBytes: 1024, clock: new RacingClock() },
      });
      const copies: Copy[] = [];
      world.look = () => {
        if (!random.chance(3)) return;
        copies.push(copyOf(folder, `${parent}/${copies.length}`, world, random.chance(50)));
      };
      const total = await play(journal, random, world);
      moved += world.written - total;
      inPieces += world.inPieces;
      for (const copy of copies) await checkCopy(copy, `seed ${seed}`);
      crashes += copies.length;
      await checkEnd(journal, world);
    });
  }
  assert.ok(crashes > histories * 20, `${crashes} crashes`);
  // Ten runs of three histories had 22 to 53: what fits depends on the histories.
  assert.ok(inPieces > histories * 3, `${inPieces} were written in pieces`);
  assert.ok(moved > histories * 10_000, `${moved} bytes were moved`);
});

const callsEach = 200;

/** Gives how many bytes the calls' own records took. */
async function play(journal: Journal, random: Random, world: World): Promise<number> {
  const others: Promise<void>[] = [];
  let own = 0;
  const counted = (act: () => void) => {
    const before = journal.bytes;
    act();
    own += journal.bytes - before;
  };
  // By the number of calls: on a slow disk the journal is full for many steps.
  for (let step = 0; world.calls.size < callsEach; step++) {
    const open = [...world.calls].filter(([, one]) => one.isBegun && !one.isEnding);
    const waiting = [...world.calls].filter(([, one]) => one.isConfirmed && !one.isStored);
    // Some of the oldest stay for long.
    const [id, state] = open.at(random.chance(95) ? -1 - random.below(3) : 0) ?? [];
    if (journal.bytes >= maxBytes / 2) await turn();
    // Relief has its turn now and then only, so that it may come late.
    const hasRoom = journal.bytes < maxBytes;
    if (hasRoom && (open.length < 4 || (open.length < 20 && random.chance(35)))) {
      others.push(
        begin(journal, world, `call-${step}`, random).then((bytes) => void (own += bytes)),
      );
    } else if (id && state && random.chance(70)) {
      counted(() => others.push(end(journal, world, id, state, random)));
    } else if (waiting.length > 0) {
      const some = waiting.slice(0, 1 + random.below(5));
      for (const [, one] of some) one.isStored = true;
      journal.stored(some.map(([id]) => id));
    }
    if (random.chance(30)) await turn();
    if (random.chance(1)) await journal.compact();
  }
  await Promise.all(others);
  return own;
}

/** One each, so that none takes more than its share. */
const accountOf = (id: string) => Number(id.slice("call-".length)) + 1;

const turn = () => new Promise((resolve) => setTimeout(resolve));

/** Returns how many bytes the record takes. */
async function begin(
  journal: Journal,
  world: World,
  id: string,
  random: Random,
): Promise<number> {
  // Some are so large that their ends stay with them.
  const requestText = JSON.stringify("x".repeat(random.below(random.chance(10) ? 9000 : 900)));
  const begun = interaction(accountOf(id), id, {
    ...{ status: "interrupted", requestText, ...someMedia(random) },
  });
  const state: CallState = { begun, isBegun: false };
  world.calls.set(id, state);
  const written = journal.begin(begun);
  if (written) {
    world.inPieces++;
    try {
      await written;
    } catch (thrown) {
      // Others have filled the journal meanwhile.
      assert.equal((thrown as Fault).code, "overloaded");
      world.calls.delete(id);
      return 0;
    }
  }
  state.isBegun = true;
  return finish(encodeRecord(recordOf("begin", begun), createRoom())).length;
}

/** Media of a fifth of the payloads, one or two. */
function someMedia(random: Random): { media?: Media[] } {
  if (!random.chance(20)) return {};
  const media = Array.from({ length: 1 + random.below(2) }, () => {
    const content = Uint8Array.from({ length: random.below(300) }, () => random.below(256));
    return { sha256: sha256Hex(content), mimeType: "image/png", content };
  });
  return { media };
}

async function end(
  journal: Journal,
  world: World,
  id: string,
  state: CallState,
  random: Random,
): Promise<void> {
  const { requestText, media: asked = [] } = state.begun;
  // The answer's media stand behind the request's, as a call has them.
  const { media: answered = [] } = someMedia(random);
  const media = [...asked, ...answered];
  const responseText = JSON.stringify("y".repeat(random.below(900)));
  state.ended = interaction(accountOf(id), id, {
    ...{ status: "completed", requestText, responseText, chargedNanos: 5n },
    ...(media.length > 0 ? { media } : {}),
  });
  state.isEnding = true;
  const earlier = [...world.calls.values()].filter(({ isBegun }) => isBegun);
  await journal.end(state.ended);
  state.isConfirmed = true;
  for (const one of earlier) one.isSafe = true;
}

/** The files as a crash would leave them, and how the calls stood then. */
interface Copy {
  folder: string;
  isOfMachine: boolean;
  calls: ReadonlyMap<string, CallState>;
}

function copyOf(folder: string, to: string, world: World, isOfMachine: boolean): Copy {
  Deno.mkdirSync(to);
  for (const { name } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    Deno.copyFileSync(path, `${to}/${name}`);
    const certain = world.synced.get(`${path} ${Deno.statSync(path).ino}`);
    if (isOfMachine && certain !== undefined) Deno.truncateSync(`${to}/${name}`, certain);
  }
  const calls = new Map([...world.calls].map(([id, state]) => [id, { ...state }]));
  return { folder: to, isOfMachine, calls };
}

async function checkCopy({ folder, isOfMachine, calls }: Copy, where: string): Promise<void> {
  const journal = await openJournal(folder, { sync: "always" });
  const store = new Map<string, SettledCall>();
  for (const [id, { isStored, ended }] of calls) if (isStored) store.set(id, ended!);
  await journal.replay((rows) => {
    // What is there stays, as in the store.
    for (const row of rows) if (!store.has(row.transactionId)) store.set(row.transactionId, row);
    return Promise.resolve();
  });
  await journal.close();
  for (const [id, state] of calls) {
    const found = store.get(id);
    const message = `${where}, ${folder}, ${id}`;
    if (!state.isBegun && !found) continue;
    if (state.isConfirmed) assert.deepEqual(found, state.ended, message);
    else if (isOfMachine) assert.ok(found ? isOneOf(found, state) : !state.isSafe, message);
    else if (state.isEnding) assert.ok(found && isOneOf(found, state), message);
    else assert.deepEqual(found, state.begun, message);
  }
  assert.deepEqual([...store.keys()].filter((id) => !calls.has(id)), [], where);
}

function isOneOf(found: SettledCall, { begun, ended }: CallState): boolean {
  return isDeepStrictEqual(found, begun) || isDeepStrictEqual(found, ended);
}

/** Once all have ended and are stored nothing is left over. */
async function checkEnd(journal: Journal, world: World): Promise<void> {
  const random = new Random(1);
  for (const [id, state] of world.calls) {
    if (!state.isEnding) await end(journal, world, id, state, random);
  }
  journal.stored([...world.calls.keys()]);
  await journal.compact();
  assert.deepEqual([journal.bytes, journal.segments], [0, 0]);
  await journal.close();
}
