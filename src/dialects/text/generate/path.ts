import { Fault } from "../../../shared/fault.ts";
import { bareModel } from "./models.ts";

/** Path of a generation, appended to the base address; streams always as server-sent events. */
export function generatePath(model: string, stream: boolean): string {
  return `${modelPath(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

export function batchEmbedPath(model: string): string {
  return `${modelPath(model)}:batchEmbedContents`;
}

/** Path of another verb, such as `predict`. */
export function pathOf(model: string, verb: string): string {
  return `${modelPath(model)}:${verb}`;
}

export function countTokensPath(model: string): string {
  return `${modelPath(model)}:countTokens`;
}

/** `/models/{model}`, the name's parts encoded: it must not reach beyond its place in the path. */
function modelPath(model: string): string {
  const steps = bareModel(model).split("/");
  if (steps.some((step) => step === "" || step === "." || step === "..")) {
    throw new Fault("model_not_found", { param: "model" });
  }
  const collection = steps[0] === "tunedModels" && steps.length > 1 ? "" : "models/";
  return `/${collection}${steps.map(encodeURIComponent).join("/")}`;
}
