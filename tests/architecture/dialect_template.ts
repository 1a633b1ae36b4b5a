import { codeFiles, type Finding, type Tree } from "./tree.ts";

/**
 * The text dialects have the same files with the same exported functions, so that whoever knows one
 * of them knows where to look in the others (docs/developing.md, "Adding a dialect").
 */
export function checkDialectTemplate(tree: Tree): Finding[] {
  const names = dialectFolders(tree);
  return names.flatMap((name) => [...missing(tree, name), ...strays(tree, name)]);
}

/** The files of a dialect, and what each exports at least. */
export const template: Readonly<Record<string, readonly string[]>> = {
  "request_decoder.ts": ["decodeRequest"],
  "request_encoder.ts": ["encodeRequest"],
  "answer_decoder.ts": ["decodeAnswer"],
  "answer_encoder.ts": ["encodeAnswer"],
  "stream_decoder.ts": ["createStreamDecoder"],
  "stream_encoder.ts": ["createStreamEncoder", "errorFrame"],
  "splice.ts": ["readRequest", "spliceRequest"],
  "usage.ts": ["readUsage", "writeUsage"],
  "finish_reason.ts": ["readFinishReason"],
  "credentials.ts": ["credentialFields"],
  "media.ts": ["mediaFields"],
  "models.ts": ["upstreamPath"],
  "hosted.ts": ["hostedWork"],
  "known_fields.ts": ["knownFields"],
};

/** Files beside these, each named by the optional member of `Dialect` that it makes. */
const optional = [
  "background.ts",
  "compaction.ts",
  "conversation.ts",
  "counting.ts",
  "naming.ts",
  "socket.ts",
];
/** What the files of the template are made of. */
const folders = ["request", "answer", "conversation", "operations", "socket"];

function missing(tree: Tree, name: string): Finding[] {
  const needed = { ...template, "mod.ts": [name] };
  return Object.entries(needed).flatMap(([file, exports]) => {
    const path = `src/dialects/text/${name}/${file}`;
    const text = tree.get(path);
    if (text === undefined) return [{ path, line: 0, message: "every dialect has this file" }];
    return exports.filter((one) => !exported(text, one)).map((one) => ({
      path,
      line: 0,
      message: `every dialect exports ${one} here`,
    }));
  });
}

function strays(tree: Tree, name: string): Finding[] {
  const root = `src/dialects/text/${name}/`;
  const own = [...Object.keys(template), ...optional, "mod.ts"];
  return codeFiles(tree).filter((path) => path.startsWith(root) && !path.endsWith("_test.ts"))
    .filter((path) => {
      const [first = "", ...rest] = path.slice(root.length).split("/");
      return rest.length > 0 ? !folders.includes(first) : !own.includes(first);
    })
    .map((path) => ({
      path,
      line: 0,
      message: "not in the template: move it to request/ or answer/",
    }));
}

function exported(text: string, name: string): boolean {
  return text.split("\n").some((line) =>
    [`const ${name}:`, `const ${name} =`, `function ${name}(`, `function* ${name}(`]
      .some((head) => line.startsWith(`export ${head}`))
  );
}

function dialectFolders(tree: Tree): string[] {
  const found = codeFiles(tree).flatMap((path) =>
    /^src\/dialects\/text\/([^/]+)\//.exec(path)?.[1] ?? []
  );
  return [...new Set(found)];
}
