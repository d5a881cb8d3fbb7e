// Ash in the browser. The pages work without this; it adds what streaming and
// comfort need. Each part looks for its own elements and leaves others alone.
import { background } from "./js/background.js";
import { composer } from "./js/composer.js";
import { connection } from "./js/connection.js";
import { dialogs } from "./js/palette.js";
import { editors } from "./js/editor.js";
import { conversation } from "./js/flow.js";
import { list } from "./js/list.js";
import { math } from "./js/math.js";
import { messages } from "./js/message.js";
import { notices } from "./js/notices.js";
import { order } from "./js/order.js";
import { segments } from "./js/segments.js";

for (const part of [notices, connection, order, dialogs, conversation, composer, messages, list, editors, background, math, segments]) part();
