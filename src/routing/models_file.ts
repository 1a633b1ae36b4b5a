import { parseObject } from "../base/exact_json.ts";
import type { Log } from "../base/log.ts";
import { messageOf, OptionError } from "../shared/fault.ts";
import type { RealModels } from "./real_models.ts";
import type { Route, VirtualRoutes } from "./route.ts";
import {
  checkVirtualName,
  readVirtualModel,
  type VirtualModelDefinition,
  virtualRoute,
} from "./virtual_model.ts";

/** A virtual model of the service, for all accounts. */
export interface FileModel {
  name: string;
  definition: VirtualModelDefinition;
}

/** The service's virtual models: `MODELS_FILE`. */
export interface ModelsFile extends VirtualRoutes {
  readonly all: readonly FileModel[];
  /**
   * Reads the file again. An invalid file changes nothing; the log says so once until the reason
   * changes or is gone.
   */
  refresh(): Promise<void>;
}

export interface ModelsFileDeps {
  /** Undefined: the service has no virtual models of its own. */
  path: string | undefined;
  models: RealModels;
  log: Pick<Log, "info" | "warn">;
}

/** Largest file, in bytes. */
const maxBytes = 4 * 1024 * 1024;

/** Reads the file. Throws an Error of one line that names the field. */
export function openModelsFile(deps: ModelsFileDeps): ModelsFile {
  const { path, models, log } = deps;
  const read = (text: string) => readModelsFile(text, models);
  let lastText = path === undefined ? "{}" : Deno.readTextFileSync(path);
  let current = read(lastText);
  let lastFailure: string | undefined;
  const routesOf = (list: readonly FileModel[]) =>
    new Map(list.map(({ name, definition }) =>
      // `read` has checked that every model exists.
      [name, virtualRoute(name, definition, models, () => {})!] as const
    ));
  let routes: ReadonlyMap<string, Route> = routesOf(current);
  return {
    find: (_accountId, name) => routes.get(name),
    list: () => current.map(({ name }) => ({ name, createdAt: undefined })),
    get all() {
      return current;
    },
    async refresh() {
      if (path === undefined) return;
      try {
        const text = await Deno.readTextFile(path);
        if (text === lastText) {
          // The file may have been unreadable in between; if it is again, that is logged again.
          lastFailure = undefined;
          return;
        }
        lastText = text;
        current = read(text);
        routes = routesOf(current);
        lastFailure = undefined;
        log.info("MODELS_FILE was reloaded", { models: current.length });
      } catch (thrown) {
        const reason = messageOf(thrown).split("\n")[0]!;
        if (reason === lastFailure) return;
        lastFailure = reason;
        log.warn("MODELS_FILE is invalid, so nothing was changed", { path, reason });
      }
    },
  };
}

/**
 * Parses `MODELS_FILE`: a JSON object, name → virtual model (`readVirtualModel`). Throws an Error
 * of one line that begins with the path of what is wrong.
 */
export function readModelsFile(text: string, models: RealModels): FileModel[] {
  if (text.length > maxBytes) throw new Error(`expected at most ${maxBytes} bytes`);
  const file = parseObject(text, '{"fast": {"targets": ["gpt-5-mini"]}}');
  return Object.entries(file).map(([name, json]) => {
    try {
      return { name: checkVirtualName(name), definition: readVirtualModel(json, models) };
    } catch (thrown) {
      if (!(thrown instanceof OptionError)) throw thrown;
      const { field, problem } = thrown;
      if (field === "name") throw new Error(`name: ${problem}`);
      throw new Error(`${name}${field === "" ? "" : `.${field}`}: ${problem}`);
    }
  });
}
