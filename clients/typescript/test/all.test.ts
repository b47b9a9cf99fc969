/** All tests in one process, with one server. */

import "./client.js";
import "./retries.js";
import "./ai-sdk.js";
import "./examples.js";
