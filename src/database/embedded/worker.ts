import { serveEmbedded } from "./serve.ts";

/** The module of the thread, for whoever brings no work of its own into it. */
serveEmbedded();
