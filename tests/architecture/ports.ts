import type { Check } from "./checks.ts";
import { importsOf } from "./imports.ts";
import { codeFiles, type Finding, isTest } from "./tree.ts";

/**
 * Interactions are behind a port (`AnalyticsStore`): nobody else has their database, so that there
 * can be another kind of store (docs/developing.md, "Another store for interactions").
 */
export const ports: Check = {
  isAbout: (path) => /^(src\/|(main|admin|program)\.ts$)/.test(path) && !isTest(path),
  looks: (path) => [
    (report) => ({
      Identifier: (node) => {
        if (node.name === "sharesMain" && !asks.test(path)) {
          report(node, "asks where interactions stand; use an operation of AnalyticsStore");
        }
      },
    }),
  ],
  concludes: (seen, tree) => [
    ...seen,
    ...codeFiles(tree).filter(ports.isAbout).flatMap((path) => around(path, tree.get(path) ?? "")),
  ],
};

/**
 * Where one transaction and two differ in more than their number: an erasure picks its calls under the
 * lock or before it, a correction posts what rows have taken or all.
 */
const asks =
  /^src\/(records\/(analytics_store\.ts|store\/.*)|(erasure\/store\/erasure|repricing\/store\/repricing)\.ts)$/;

interface Port {
  /** Files that only `may` import. */
  readonly behind: RegExp;
  readonly may: RegExp;
  readonly instead: string;
}

const behindPorts: readonly Port[] = [
  {
    behind: /^src\/database\/open\.ts$/,
    may: /^src\/main\/open_stores\.ts$/,
    instead: "only src/main/open_stores.ts opens databases",
  },
  {
    // The other two write records in a thread, and with their charges. A copy of the whole database
    // needs the partitions of its tables.
    behind: /^src\/records\/store\/(?!(records|write_thread)\.ts$)/,
    may: /^src\/(records\/store\/.*|main\/(open_stores|copy_to_postgres)\.ts)$/,
    instead: "take AnalyticsStore",
  },
  {
    behind: /^src\/usage\/store\//,
    may: /^src\/(records|usage)\/store\//,
    instead: "take AnalyticsStore, which has the sums beside the rows",
  },
];

function around(path: string, text: string): Finding[] {
  return importsOf(path, text).flatMap((one) => {
    const port = behindPorts.find(({ behind }) => one.path !== null && behind.test(one.path));
    if (port === undefined || port.may.test(path)) return [];
    return [{ path, line: one.line, message: `imports ${one.path}: ${port.instead}` }];
  });
}
