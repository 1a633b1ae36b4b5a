import type { Check } from "./checks.ts";
import { importsOf } from "./imports.ts";
import { type Build, memberName } from "./syntax.ts";
import { codeFiles, type Finding, isTest } from "./tree.ts";

/** Each outside thing has one door (style.md rule 4). Tests are free to use what they need. */
export const doors: Check = {
  isAbout: (path) => isProduct.test(path) && !isTest(path),
  looks: (path) => [usesOutside(path)],
  concludes: (seen, tree) => {
    const product = codeFiles(tree).filter(doors.isAbout);
    return [...seen, ...product.flatMap((path) => packagesOutside(path, tree.get(path) ?? ""))];
  },
};

/** Scripts for the browser (`.js`) run outside the process and have doors of their own. */
const isProduct = /^(src\/|contracts\/|(main|admin|program)\.ts$).*(?<!\.js)$/;

interface Door {
  readonly what: RegExp;
  /** Files that may; everyone else is sent to `instead`. */
  readonly may: RegExp;
  readonly instead: string;
}

const nobody = /(?!)/;
const everybody = /(?:)/;
const upstream = /^src\/vendors\/upstream[^/]*\.ts$/;
const clock = /^src\/base\/clock\.ts$/;

/** Global members, by their full name, called or not. */
const memberDoors: readonly Door[] = [
  {
    what: /^(Deno|process)\.env$/,
    may: /^src\/main\/config\.ts$/,
    instead: "take a field of the configuration; only src/main/config.ts reads the environment",
  },
  {
    what: /^(Date\.now|performance\.(now|timeOrigin|mark|measure)|Temporal\.Now)$/,
    may: clock,
    instead: "take a Clock; only src/base/clock.ts reads the time",
  },
  {
    what: /^console\.\w+$/,
    may: /^(src\/base\/log\.ts|src\/main\/run_(server|admin)\.ts|program\.ts|src\/admin\/.*)$/,
    instead: "take a Log; only src/base/log.ts and the entry points write for people",
  },
  {
    what: /^import\.meta\.(url|dirname|filename|resolve)$/,
    may: /^src\/base\/program_files\.ts$/,
    instead: "use programFile or programModule: a bundle's code lies elsewhere than its source",
  },
  {
    what: /^JSON\.parse$/,
    // A client parses what its own service answers; the others parse strings, lists of strings, and
    // calls' records, all of whose names are ours.
    may:
      /^(contracts\/client|src\/(base\/(exact_json|json_text|json_strings|quoted_json|duplicate_names)|records\/(interaction_json|exported_cells|search_tokens)))\.ts$/,
    instead: "use parseExactly; the runtime's parser mixes up names with escapes",
  },
  {
    what: /^Deno\.(connect|connectTls|startTls|createHttpClient)$/,
    may: upstream,
    instead: "only src/vendors/upstream*.ts opens connections",
  },
];

/** Calls of globals; passing them as a value (a default that tests replace) is not a call. */
const callDoors: readonly Door[] = [
  {
    what: /^fetch$/,
    // The operator's commands reach the server that owns the data directory, on loopback; the library
    // for sign-in asks the identity provider, with a limit on its answers.
    may: /^src\/(admin\/control|dashboard\/identity_provider)\.ts$/,
    instead: "use src/vendors/upstream*.ts; reading a fetch body in chunks is slow (design.md §4)",
  },
  { what: /^Date$/, may: clock, instead: "take a Clock" },
  {
    what: /^Math\.random$/,
    may: nobody,
    instead: "take a random source as a parameter; ids and secrets come from crypto",
  },
  {
    what: /^(setTimeout|setInterval|setImmediate|AbortSignal\.timeout)$/,
    // Time-outs towards vendors, a word in their silence, the loops that run jobs, what the store
    // does in the background, the limits on connections and on draining at the end, a vendor that
    // does not close after its last words, the limit on asking the identity provider, and a stream's
    // first piece, which may go out with the head; the turns of background work; a worker's start.
    // Nothing else on the way of a request waits.
    may:
      /^src\/(base\/(break_off|deadline|turns)|vendors\/(http1\/)?\w+|shared\/background_jobs|evals\/\w+|erasure\/\w+|records\/journal\/\w+|database\/.+|(\w+\/)+store\/\w+|listener\/\w+|dashboard\/identity_provider|main\/(application|supervisor)|http\/(direct_calls|stream_sink)|relay\/stream_forwarder|workers\/parent_link)\.ts$/,
    instead: "a timer needs a place in the list of tests/architecture/doors.ts",
  },
];

/** Packages. `typesMay` says who may name their types where that is not the same. */
const packageDoors: readonly (Door & { readonly typesMay?: RegExp })[] = [
  {
    what: /^node:(http|https|http2|net|tls)$/,
    // One file calls out, one listens, one asks our own listener whether it is ready, one sends
    // operators' commands to a running server, one opens connections for `node:https`, one those of
    // PostgreSQL, and one only compares addresses.
    may:
      /^src\/(admin\/control|base\/https_agent|database\/postgres\/postgres|listener\/[^/]*|main\/run_health|vendors\/(http1\/connect|public_address))\.ts$/,
    typesMay: everybody,
    instead: "its parsers are shared with the listener's; only src/vendors/upstream*.ts calls out",
  },
  {
    what: /^ws$/,
    may: /^src\/listener\/web_socket\.ts$/,
    instead: "use FrameChannel; only src/listener/web_socket.ts knows the protocol's package",
  },
  {
    what: /^node:child_process$/,
    may: /^src\/workers\/spawn_worker\.ts$/,
    instead: "only src/workers/spawn_worker.ts starts programs, and none but this one",
  },
  {
    what: /^undici(\/|$)/,
    may: nobody,
    instead: "only src/vendors/upstream*.ts calls out, and speaks HTTP/1.1 itself",
  },
  {
    what: /^postgres(\/|$)/,
    may: /^src\/database\/postgres\/postgres\.ts$/,
    instead: "use Database; only src/database/postgres/postgres.ts knows the driver",
  },
  {
    what: /^@electric-sql\/pglite(\/|$)/,
    // The last one makes the image that a release ships; the service never runs it.
    may: /^src\/database\/embedded\/(guarded|prepared|serve|synced_files|image\/build)\.ts$/,
    instead: "use Database; only src/database/embedded/serve.ts knows the embedded database",
  },
  {
    what: /^@aws-sdk\//,
    may: /^src\/exports\/store\/export_bucket\.ts$/,
    instead: "only src/exports/store/export_bucket.ts speaks to the bucket",
  },
  {
    what: /^hono(\/|$)/,
    may: /^src\/(http\/(?!routes\/)|dashboard\/|main\/app\.ts$)/,
    // Routes hand the application on to bind; they make nothing of it.
    typesMay: /^src\/(http\/|dashboard\/|main\/app\.ts$)/,
    instead: "handlers take parsed input and return a typed value; bind knows the web framework",
  },
  {
    what: /^node:(process|timers|perf_hooks)(\/|$)/,
    may: nobody,
    instead: "it is a second door to the environment, the timers or the clock",
  },
];

/** Objects whose members are doors; taking them apart would go around the door. */
const guarded = /^(Deno|process|Date|performance|console|Math|JSON)$/;

/** `import.meta.url` and the like. */
function metaName(node: Deno.lint.MemberExpression): string | undefined {
  if (node.object.type !== "MetaProperty" || node.property.type !== "Identifier") return undefined;
  return `import.meta.${node.property.name}`;
}

function usesOutside(path: string): Build {
  return (report) => {
    const check = (doors: readonly Door[], node: Deno.lint.Node, name: string | undefined) => {
      const door = doors.find(({ what }) => name !== undefined && what.test(name));
      if (door !== undefined && !door.may.test(path)) report(node, `${name}: ${door.instead}`);
    };
    return {
      MemberExpression: (node) => check(memberDoors, node, metaName(node) ?? memberName(node)),
      CallExpression: (node) => check(callDoors, node, memberName(node.callee)),
      NewExpression: (node) => {
        if (node.arguments.length === 0) check(callDoors, node, memberName(node.callee));
      },
      VariableDeclarator: (node) => {
        if (node.init?.type !== "Identifier" || !guarded.test(node.init.name)) return;
        report(node, `${node.init.name} is taken apart; name its members where they are used`);
      },
    };
  };
}

function packagesOutside(path: string, text: string): Finding[] {
  return importsOf(path, text).flatMap(({ specifier, line, typeOnly }) => {
    const door = packageDoors.find(({ what }) => what.test(specifier));
    if (door === undefined) return [];
    const may = typeOnly ? door.typesMay ?? door.may : door.may;
    return may.test(path) ? [] : [{ path, line, message: `${specifier}: ${door.instead}` }];
  });
}
