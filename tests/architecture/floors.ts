import { type Import, importsOf } from "./imports.ts";
import { codeFiles, type Finding, isTest, type Tree } from "./tree.ts";

/**
 * Imports point down (design.md §1). A new folder belongs on a floor before it can be used: add
 * it to `floors`.
 */
export function checkFloors(tree: Tree): Finding[] {
  return codeFiles(tree).flatMap((path) =>
    importsOf(path, tree.get(path) ?? "").flatMap((each) => {
      const message = objection(path, each);
      return message === null ? [] : [{ path, line: each.line, message }];
    }).concat(floorOf(path) === null ? [{ path, line: 0, message: homeless }] : [])
  );
}

const homeless = "stands on no floor; give its folder a place in tests/architecture/floors.ts";

interface Floor {
  readonly name: string;
  /** A floor imports from lower ranks only; the same rank means sibling. */
  readonly rank: number;
  readonly holds: RegExp;
  /** Narrower than the rank: the only floors that may be imported. */
  readonly only?: readonly string[];
}

const floors: readonly Floor[] = [
  { name: "settings", rank: -1, holds: /^[^/]+\.json$/ },
  { name: "base", rank: 0, holds: /^src\/base\//, only: [] },
  { name: "contracts", rank: 1, holds: /^contracts\//, only: [] },
  { name: "domain", rank: 2, holds: /^src\/domain\// },
  { name: "migrations", rank: 3, holds: /^migrations\//, only: [] },
  { name: "store", rank: 4, holds: /^src\/store\// },
  { name: "dialects", rank: 4, holds: /^src\/dialects\// },
  { name: "vendors", rank: 5, holds: /^src\/vendors\// },
  { name: "gateway", rank: 6, holds: /^src\/gateway\// },
  // What it serves is handed to it.
  { name: "listener", rank: 1, holds: /^src\/listener\//, only: ["base"] },
  // It is shipped on its own: it knows nothing but itself.
  { name: "client", rank: 0, holds: /^openapi\/client\//, only: [] },
  { name: "openapi", rank: 7, holds: /^openapi\//, only: ["contracts", "settings"] },
  { name: "http", rank: 8, holds: /^src\/http\// },
  { name: "dashboard", rank: 8, holds: /^src\/dashboard\// },
  { name: "jobs", rank: 8, holds: /^src\/jobs\// },
  { name: "admin", rank: 8, holds: /^src\/admin\// },
  { name: "app", rank: 9, holds: /^src\/(wiring\/)?[^/]+$/ },
  { name: "main", rank: 10, holds: /^(main|admin)\.ts$/ },
  { name: "demo entry", rank: 11, holds: /^demo\/main\.ts$/ },
  // All programs in one, as it is packaged.
  { name: "program", rank: 12, holds: /^program\.ts$/ },
  { name: "packaging", rank: 0, holds: /^packaging\//, only: [] },
  // Simulators that used our own codecs would confirm our own mistakes.
  { name: "demo", rank: 0, holds: /^demo\//, only: [] },
  // It runs against any server, so it knows none from inside.
  { name: "conformance", rank: 0, holds: /^conformance\//, only: [] },
  // The gate starts before any dependency is there.
  { name: "gate", rank: 0, holds: /^tests\/run(\.ts$|\/)/, only: [] },
  { name: "tests", rank: 13, holds: /^(tests|bench)\// },
];

const contractPackages = /^(zod|@hono\/zod-openapi)(\/|$)/;

function objection(path: string, each: Import): string | null {
  const from = floorOf(path);
  if (from === null) return null;
  if (each.path === null) return packageObjection(path, from, each.specifier);
  const to = floorOf(each.path);
  if (to === null) return `imports ${each.path}, which stands on no floor`;
  // Unit tests may use what tests share; nothing else may use tests.
  if (isTest(path) && /^tests\/(support|fixtures)\//.test(each.path)) return null;
  if (!isTest(path) && isTest(each.path)) return `imports ${each.path}, which is for tests only`;
  if (from === to) return siblingDialect(path, each.path);
  if (from.name === "demo entry" && to.name === "demo") return null;
  if (from.only !== undefined && !from.only.includes(to.name)) {
    const allowed = [from.name, ...from.only].join(", ");
    return `imports ${each.path}; ${from.name} may import only ${allowed}`;
  }
  if (from.rank > to.rank) return null;
  return from.rank === to.rank
    ? `imports ${each.path} of its sibling floor ${to.name}; let both meet above or below`
    : `imports up, from ${from.name} to ${to.name} (${each.path})`;
}

function packageObjection(path: string, from: Floor, specifier: string): string | null {
  if (from.name === "gate" && !isTest(path.replace(/^tests\//, ""))) {
    return `imports ${specifier}; the gate starts before any dependency is there`;
  }
  if (from.name !== "contracts" || isTest(path) || contractPackages.test(specifier)) return null;
  return `imports ${specifier}; contracts import only contracts and zod`;
}

/** No file knows two dialects; what they share lies beside their folders. */
function siblingDialect(path: string, imported: string): string | null {
  const own = dialectOf(path);
  const other = dialectOf(imported);
  if (own === null || other === null || own === other) return null;
  return `imports ${imported}; dialect ${own} must not know dialect ${other}`;
}

function dialectOf(path: string): string | null {
  return /^src\/dialects\/([^/]+)\//.exec(path)?.[1] ?? null;
}

function floorOf(path: string): Floor | null {
  return floors.find((floor) => floor.holds.test(path)) ?? null;
}
