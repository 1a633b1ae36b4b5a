/** Real vendors' generate answers, for callers of every other dialect; absent on a clone elsewhere. */
import { registerMatrix } from "./register.ts";

registerMatrix(new URL("../../../shared/recorded/", import.meta.url), "generate");
