import { type Import, importsOf } from "./imports.ts";
import { codeFiles, type Finding, isTest, type Tree } from "./tree.ts";

/**
 * Which folder may import which (docs/developing.md, "Layout"). A new folder needs a line in
 * `folders` before anything can stand in it or use it.
 */
export function checkLayout(tree: Tree): Finding[] {
  return codeFiles(tree).flatMap((path) =>
    importsOf(path, tree.get(path) ?? "").flatMap((each) => {
      const message = objection(path, each);
      return message === null ? [] : [{ path, line: each.line, message }];
    }).concat(folderOf(path) === null ? [{ path, line: 0, message: homeless }] : [])
  );
}

const homeless = "its folder is not in the table of tests/architecture/layout.ts";

/** A folder of the tree, and the folders that its files may import besides their own. */
export interface Folder {
  readonly name: string;
  readonly holds: RegExp;
  /** Names of folders; `"*"`: any. */
  readonly may: readonly string[];
}

/** Everybody in the product may use these. */
const kernel = ["base", "contracts", "shared"];

/** A subject of the product: its rules and services, which never touch the database. */
function subject(name: string, ...may: string[]): Folder {
  return {
    name,
    holds: new RegExp(`^src/${name}/(?!(.*/)?store/|wire\\.ts$)`),
    may: [...kernel, ...may],
  };
}

/** The SQL of a subject: the only place where its tables are named. */
function store(name: string, ...may: string[]): Folder {
  const holds = new RegExp(`^src/${name}/(.*/)?store/`);
  return { name: `${name}/store`, holds, may: [...kernel, name, "database", ...may] };
}

/** What serves the subjects to people and programs. */
const subjects = [
  ...["administration", "audit", "background", "budgets", "cohorts", "credit", "erasure", "evals"],
  ...["exports", "idempotency"],
  ...["keys", "media", "overload", "people", "playground", "pricing", "rate_limits", "records"],
  ...["refusals", "relay", "repricing", "response_cache", "routing", "usage", "vendors"],
  ...["webhooks", "dialects/kernel"],
];

/** What only a subject's own `wire.ts` and the composition root put together. */
const stores = [
  ...[
    "background/store",
    "budgets/store",
    "cohorts/store",
    "credit/store",
    "erasure/store",
    "evals/store",
  ],
  ...["exports/store", "idempotency/store", "keys/store", "records/store"],
  ...["refusals/store", "response_cache/store", "routing/store", "webhooks/store"],
  ...["work_queue/store", "database"],
];

/** Each names only folders above itself, so that there are no circles; the test proves it. */
export const folders: readonly Folder[] = [
  { name: "settings", holds: /^[^/]+\.json$/, may: [] },
  { name: "base", holds: /^src\/base\//, may: [] },
  { name: "contracts", holds: /^contracts\//, may: [] },
  { name: "shared", holds: /^src\/shared\//, may: ["base", "contracts"] },
  { name: "database", holds: /^src\/database\//, may: ["base", "shared"] },
  { name: "listener", holds: /^src\/listener\//, may: ["base"] },
  // The parent of processes, which knows no subject of the product.
  { name: "workers", holds: /^src\/workers\//, may: ["base", "shared", "settings"] },

  // Store folders come before the subjects that only their own store imports.
  store("audit"),
  subject("audit"),
  subject("overload"),
  subject("pricing"),
  { name: "dialects/kernel", holds: /^src\/dialects\/kernel\//, may: [...kernel, "pricing"] },
  {
    name: "dialects/text",
    holds: /^src\/dialects\/text\//,
    may: [...kernel, "pricing", "dialects/kernel"],
  },
  {
    name: "dialects/media",
    holds: /^src\/dialects\/media\//,
    may: [...kernel, "pricing", "dialects/kernel"],
  },
  subject("vendors", "pricing", "dialects/kernel", "dialects/text", "dialects/media"),
  subject("usage"),
  store("usage"),
  subject("work_queue"),
  store("work_queue"),
  subject("erasure", "audit", "work_queue"),
  // The port to where interactions stand names what is erased by erasure's words, sums by usage's, and
  // the database's transactions; the rows' columns know what their text may hold.
  subject("records", "database", "erasure", "usage", "dialects/kernel"),
  subject("telemetry", "records"),
  subject("keys", "audit", "vendors"),
  store("keys", "audit", "audit/store", "records"),
  subject("credit", "audit", "keys", "pricing"),
  subject("budgets", "audit", "credit"),
  store("budgets", "audit", "audit/store", "credit"),
  store("credit", "audit", "audit/store", "records", "budgets/store"),
  subject("webhooks", "audit", "vendors", "work_queue"),
  store("webhooks", "audit/store", "budgets/store", "credit/store", "keys", "work_queue/store"),
  subject("people", "audit", "keys"),
  store("people", "audit", "audit/store", "keys", "keys/store", "credit/store"),
  subject("rate_limits"),
  store("rate_limits"),
  subject("repricing", "records", "pricing", "vendors", "dialects/kernel", "dialects/text"),
  store("repricing", "budgets/store", "credit/store", "records"),
  subject("response_cache"),
  subject("routing", "audit", "keys", "pricing", "records", "vendors", "dialects/kernel"),
  store("routing", "audit", "audit/store", "records"),
  subject(
    "relay",
    "records",
    "response_cache",
    "repricing",
    "routing",
    "budgets",
    "credit",
    "keys",
    "pricing",
    "vendors",
    "dialects/kernel",
  ),
  subject("idempotency", "relay"),
  store("idempotency", "erasure/store"),
  subject("background", ...[
    ...["relay", "idempotency", "records", "response_cache", "keys", "vendors", "dialects/kernel"],
    "work_queue",
  ]),
  store("background", "records", "erasure/store", "work_queue/store"),
  store("relay", "background/store"),
  subject("media", ...[
    ...["relay", "routing", "records", "keys", "pricing", "vendors"],
    ...["dialects/kernel", "dialects/text", "dialects/media"],
  ]),
  subject("refusals"),
  store("refusals"),
  subject("playground", "relay", "keys", "rate_limits", "dialects/kernel"),
  subject("evals", ...[
    ...[
      "audit",
      "pricing",
      "keys",
      "rate_limits",
      "records",
      "relay",
      "routing",
      "vendors",
      "dialects/kernel",
    ],
    "work_queue",
  ]),
  store("evals", "audit/store", "records", "work_queue/store"),
  store(
    "erasure",
    "audit/store",
    "budgets/store",
    "webhooks/store",
    "evals/store",
    "records",
    "work_queue/store",
  ),
  store("response_cache", "erasure/store"),
  // One transaction writes a batch of records with all that belongs to them.
  store("records", ...[
    ...["budgets/store", "credit", "credit/store", "usage", "usage/store"],
    ...["webhooks", "webhooks/store"],
    ...["relay/store", "background/store", "erasure", "erasure/store"],
  ]),
  subject("exports", "audit", "records", "work_queue"),
  store("exports", "audit", "audit/store", "records", "webhooks/store", "work_queue/store"),
  subject("administration", ...[
    ...[
      "audit",
      "budgets",
      "credit",
      "keys",
      "pricing",
      "rate_limits",
      "records",
      "repricing",
      "routing",
    ],
    ...["vendors", "webhooks"],
  ]),
  subject("cohorts"),
  store("cohorts", "records"),

  // `src/<subject>/wire.ts` builds a subject with its store, for the composition root alone.
  { name: "wires", holds: /^src\/\w+\/wire\.ts$/, may: [...kernel, ...subjects, ...stores] },

  { name: "http", holds: /^src\/http\//, may: [...kernel, ...subjects] },
  { name: "dashboard", holds: /^src\/dashboard\//, may: [...kernel, ...subjects] },
  {
    name: "admin",
    holds: /^src\/admin\//,
    // It opens the database itself where no server runs.
    may: [...kernel, ...subjects, "database", "erasure/store", "repricing/store"],
  },
  { name: "main", holds: /^src\/main\//, may: ["*"] },
  { name: "entries", holds: /^(main|admin)\.ts$/, may: ["main", "base"] },
  {
    name: "demo entry",
    holds: /^demo\/main\.ts$/,
    may: ["demo", "demo life", "entries", "main", "base"],
  },
  // What the demo shows was recorded by nobody: it is written as the recorder writes.
  { name: "demo life", holds: /^demo\/life\//, may: ["*"] },
  // All programs in one, as it is packaged.
  { name: "program", holds: /^program\.ts$/, may: ["*"] },

  // It is shipped on its own: it knows nothing but itself.
  { name: "client", holds: /^openapi\/client\//, may: [] },
  { name: "openapi", holds: /^openapi\//, may: ["contracts", "settings"] },
  { name: "packaging", holds: /^packaging\//, may: [] },
  // Simulators that used our own codecs would confirm our own mistakes.
  { name: "demo", holds: /^demo\//, may: [] },
  // It runs against any server, so it knows none from inside.
  { name: "conformance", holds: /^conformance\//, may: [] },
  { name: "migrations", holds: /^migrations\//, may: [] },
  // Knows nothing but the system.
  { name: "starters", holds: /^tests\/support\/(postgres|memory_folder|free_port)\.ts$/, may: [] },
  // The gate starts before any dependency is there.
  { name: "gate", holds: /^tests\/run(\.ts$|\/)/, may: ["starters"] },
  { name: "tests", holds: /^(tests|bench)\//, may: ["*"] },
];

/** Not what is built on top of everything. */
const mayBeTriedWith =
  /^(tests\/(support|fixtures)\/|demo\/simulator\/|src\/(?!(http|dashboard|admin|main)\/))/;

const contractPackages = /^(zod|@hono\/zod-openapi)(\/|$)/;

function objection(path: string, each: Import): string | null {
  const from = folderOf(path);
  if (from === null) return null;
  if (each.path === null) return packageObjection(path, from, each.specifier);
  const to = folderOf(each.path);
  if (to === null) return `imports ${each.path}, whose folder is not in the table`;
  // Unit tests may use what tests share, and what their subject is tried with.
  if (/^src\/.*_test\.tsx?$/.test(path) && mayBeTriedWith.test(each.path)) return null;
  if (!isTest(path) && isTest(each.path)) return `imports ${each.path}, which is for tests only`;
  if (from === to) return siblingDialect(path, each.path);
  if (from.may.includes("*") || from.may.includes(to.name)) return null;
  return `imports ${each.path}; ${from.name} may import only ${
    [from.name, ...from.may].join(", ")
  } (tests/architecture/layout.ts): pass it in, or move what both need to a folder of these`;
}

function packageObjection(path: string, from: Folder, specifier: string): string | null {
  if (from.name === "gate" && !isTest(path.replace(/^tests\//, ""))) {
    return `imports ${specifier}; the gate starts before any dependency is there`;
  }
  if (from.name !== "contracts" || isTest(path) || contractPackages.test(specifier)) return null;
  return `imports ${specifier}; contracts import only contracts and zod`;
}

/** No file knows two dialects; what they share is in `src/dialects/kernel`. */
function siblingDialect(path: string, imported: string): string | null {
  const own = dialectOf(path);
  const other = dialectOf(imported);
  if (own === null || other === null || own === other) return null;
  return `imports ${imported}; dialect ${own} must not know dialect ${other}`;
}

function dialectOf(path: string): string | null {
  return /^src\/dialects\/(?:text|media)\/([^/]+)\//.exec(path)?.[1] ?? null;
}

function folderOf(path: string): Folder | null {
  return folders.find((folder) => folder.holds.test(path)) ?? null;
}
