import type { JsonRecord } from "../../../kernel/json.ts";

/**
 * Returns the description and input of a tool that the caller runs and whose definition the
 * vendor's models know by heart: for other models it is a function. The inputs are those of the npm
 * package @anthropic-ai/sdk 1.14.0 (`BetaMemoryTool20250818Command`), and of the vendor's pages on
 * its bash and text editor tools. A version that isn't listed may have other inputs, so it is
 * reported as a tool that can't be carried.
 */
export function clientTool({ type }: JsonRecord): Readonly<JsonRecord> | undefined {
  return typeof type === "string" ? clientTools.get(type) : undefined;
}

const text = (description: string) => ({ type: "string", description });

const viewRange = {
  type: "array",
  items: { type: "integer" },
  description: "view: first and last line to show, counted from 1; -1 is the end of the file.",
};
const fileText = text("create: the whole text of the file.");
const oldText = text("str_replace: the text to replace, exactly as it is; it occurs once.");
const insertLine = {
  type: "integer",
  description: "insert: the line to insert after; 0 is the beginning of the file.",
};

function commands(names: readonly string[], required: readonly string[], fields: JsonRecord) {
  return {
    type: "object",
    properties: { command: { type: "string", enum: names }, ...fields },
    required: ["command", ...required],
  };
}

const bash = {
  description: "Runs commands in a bash shell that stays open between calls: its directory, " +
    "variables and files are those of the calls before. A command can't ask for input.",
  input_schema: {
    type: "object",
    properties: {
      command: text("The command to run; required, unless the shell is restarted."),
      restart: { type: "boolean", description: "Restarts the shell, in place of a command." },
    },
  },
};

/** `inserted`: the field with the text to insert. */
function editor(inserted: "new_str" | "insert_text", more: readonly string[] = []) {
  const isOwn = inserted === "insert_text";
  return {
    description: "Shows files and directories, creates files and edits them. View a file " +
      "before you edit it.",
    input_schema: commands(["view", "create", "str_replace", "insert", ...more], ["path"], {
      path: text("Absolute path of the file, or of the directory to view."),
      view_range: viewRange,
      file_text: fileText,
      old_str: oldText,
      new_str: text(
        "str_replace: the text in its place; default none." +
          (isOwn ? "" : " insert: the text to insert."),
      ),
      insert_line: insertLine,
      ...(isOwn ? { insert_text: text("insert: the text to insert.") } : {}),
    }),
  };
}

const memory = {
  description: "Keeps notes in files below /memories, which outlast this conversation. View that " +
    "directory before you begin, and write down what you find out while you work: the " +
    "conversation may end at any time, and whoever continues knows only the notes.",
  input_schema: commands(["view", "create", "str_replace", "insert", "delete", "rename"], [], {
    path: text("Path below /memories; every command but rename needs it."),
    view_range: viewRange,
    file_text: fileText,
    old_str: oldText,
    new_str: text("str_replace: the text in its place."),
    insert_line: insertLine,
    insert_text: text("insert: the text to insert."),
    old_path: text("rename: the present path."),
    new_path: text("rename: the new path."),
  }),
};

const clientTools: ReadonlyMap<string, Readonly<JsonRecord>> = new Map<string, JsonRecord>([
  ["bash_20241022", bash],
  ["bash_20250124", bash],
  ["text_editor_20241022", editor("new_str", ["undo_edit"])],
  ["text_editor_20250124", editor("new_str", ["undo_edit"])],
  ["text_editor_20250429", editor("new_str")],
  ["text_editor_20250728", editor("insert_text")],
  ["memory_20250818", memory],
]);
