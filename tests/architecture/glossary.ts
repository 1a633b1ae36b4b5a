import type { Check } from "./checks.ts";
import { type DeclaredName, declaredNames, wordsIn } from "./declared_names.ts";
import { codeFiles, type Finding, isTest, type Tree } from "./tree.ts";

/** A word that names here don't use, and what is written instead. */
interface Refused {
  /** How the findings call it. */
  readonly word: string;
  readonly instead: string;
  readonly refuses: (declared: DeclaredName) => boolean;
}

/** Names that hold one of `words` as a whole word: `told` refuses `toldCost`. */
function word(words: string, instead: string): Refused[] {
  return words.split(" ").map((one) => ({
    word: one,
    instead,
    refuses: ({ name }) => wordsIn(name).includes(one),
  }));
}

/** Names that are one of `names`, whatever their first letter's case, and nothing more. */
function name(names: string, instead: string): Refused[] {
  return names.split(" ").map((one) => ({
    word: one,
    instead,
    refuses: (declared) => wordsIn(declared.name).join(" ") === wordsIn(one).join(" "),
  }));
}

const refused: readonly Refused[] = [
  ...word("desk desks", "the subject: AccountState, PageContext, KeyService, …"),
  ...name("caughtUp", "flushRecords"),
  ...word("kept", "stored or retained"),
  ...word("told", "vendorReported or notified"),
  ...word("said", "text, value or message"),
  ...word("given", "options, optionalField or filters"),
  ...name("known", "existing, ReplayState or context"),
  ...name("place places", "cursor, path or offset"),
  ...name("storable", "sanitizeText or assertStorable"),
  ...word("holder", "LeaseOwner or workerId"),
  ...word("needs", "deps or options"),
  {
    word: "parts",
    instead: "deps",
    refuses: ({ name, type }) =>
      name === "parts" && /(Deps|Parts|Services)$/.test(type) || /.Parts$/.test(name),
  },
  ...word("lane lanes", "CallPlan"),
  ...word("funds", "Authorization"),
  ...name("setAside", "authorize"),
  ...word("purse purses", "AccountLease"),
  ...word("escrow escrows", "reservations"),
  ...word("errand errands", "VendorCallContext"),
  ...name("chooseKey", "resolveVendorKey"),
  ...name("keyRing vendorKeyRing", "keyCache"),
  ...word("vault", "reasoningStore"),
  ...word("undo undoing", "ResponseRewriter"),
  ...word("scene", "RequestContext"),
  ...name("repeats", "idempotent"),
  ...name("watchedStream heldReply largeAnswer", "stream tap, backpressured body, bounded body"),
  ...name("drawnAddresses liftMedia restoreMedia", "fetch, externalize, inline"),
  ...name("personCalls", "playgroundCalls"),
  ...name("evalOrder exportOrder deletionOrder orderEval", "createEval, ExportSpec, DeletionScope"),
  ...word("meant", "matched or matcher"),
  ...word("news", "change feed, poll"),
  ...name("raise", "insertTombstone"),
  ...word("foreign", "unsupported fields"),
  ...name("way ways", "EndpointMapping"),
  ...name("ImageWire SpeechWire", "codec"),
  ...word("draw draws drawn speak speaks", "the vendor's API name"),
  ...name("words wordsOf", "asString or texts"),
  ...word("patient patience", "starvation-tolerant timeout, timeouts"),
  ...word("garbage", "gcHint"),
  ...name("watch", "deadline"),
  ...name("later", "setTimer"),
  ...name("planAnew", "forceCustomPlan"),
  ...name("usual leadOf fewInRange lookedTo", "unindexedDefaults, chooseIndexColumn, …"),
  ...name("rowsNamed", "fetchByKey"),
  ...name("openMonths storedMonths", "ensurePartitions, partitionsInUse"),
  ...name("giveBack", "refundCharge"),
  ...name("journalLeft", "journal recovery"),
  ...word("portion portions", "chunks"),
  ...name("scrubber scrubHere", "physical purge"),
  ...name("listedSoon", "withTimeout"),
  ...name("explainedDifferences", "knownPriceDiscrepancies"),
  ...name("book", "CapLedger"),
  ...word("heard minted distrust", "lastHeartbeat, selfIssued, resetShare"),
  ...name("freeze", "pause"),
  ...word("visit", "page request"),
  ...name("wrong tried", "fieldErrors, submitted"),
  ...word("halt obstacle hopeless exhibits", "StopSignal, blocker, unrecoverable, evidence"),
  ...name("takeIn", "ingest"),
  ...name("goOn goesOn giveAgain giveUp putAside", "continue, replay, release, quarantine"),
  { word: "most…", instead: "max…", refuses: ({ name }) => /^#?most[A-Z]/.test(name) },
  { word: "least…", instead: "min…", refuses: ({ name }) => /^#?least[A-Z]/.test(name) },
];

/**
 * How many refused names may still be in a folder: only ever fewer. A folder that isn't listed has
 * none. Lower a number with the names that went; the check fails where there are fewer than listed.
 */
export const allowance: Readonly<Record<string, number>> = {};

/** Names use the field's terms (docs/developing.md, "Words"); the product's files, not its tests. */
export function glossary(allowed: Readonly<Record<string, number>> = allowance): Check {
  // Most names stand in many places.
  const judged = new Map<string, Refused | undefined>();
  const refusalOf = (declared: DeclaredName) => {
    const key = `${declared.name} ${declared.type}`;
    if (!judged.has(key)) judged.set(key, refused.find((each) => each.refuses(declared)));
    return judged.get(key);
  };
  return {
    isAbout,
    looks: () => [
      (report, comments) =>
        declaredNames((declared) => {
          const match = refusalOf(declared);
          if (match !== undefined) report(declared.node!, sentence(declared.name, match));
        })(report, comments),
    ],
    concludes: (seen, tree) => beyond([...refusedFiles(tree), ...seen], allowed),
  };
}

function isAbout(path: string): boolean {
  return isLooked.test(path) && !isTest(path);
}

/** Files that are named by a refused word. */
function refusedFiles(tree: Tree): Finding[] {
  return codeFiles(tree).filter(isAbout).flatMap((path) => {
    const file = path.slice(path.lastIndexOf("/") + 1).replace(/\..*$/, "");
    const own = refused.find((each) => each.refuses({ name: file, type: "" }));
    return own === undefined ? [] : [{ path, line: 0, message: sentence(file, own) }];
  });
}

function beyond(names: Finding[], allowed: Readonly<Record<string, number>>): Finding[] {
  const byFolder = Map.groupBy(names, ({ path }) => folderOf(path));
  const findings = [...byFolder].flatMap(([folder, own]) =>
    own.length <= (allowed[folder] ?? 0) ? [] : own
  );
  for (const [folder, most] of Object.entries(allowed)) {
    const count = byFolder.get(folder)?.length ?? 0;
    if (count >= most) continue;
    const message = `has ${count} refused names; lower its allowance of ${most} in glossary.ts`;
    findings.push({ path: folder, line: 0, message });
  }
  return findings;
}

function sentence(name: string, { word, instead }: Refused): string {
  return `'${name}' says '${word}'; write ${instead}`;
}

const isLooked = /^(src|contracts|openapi|packaging)\/(?!client\/generated)|^[^/]+\.ts$/;

/** `src/relay`, `contracts`. */
function folderOf(path: string): string {
  return /^src\/[^/]+/.exec(path)?.[0] ?? (path.includes("/") ? path.split("/")[0]! : ".");
}
