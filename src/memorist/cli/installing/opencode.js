// Calls a hook with each prompt and after each turn, as other agents' own hooks do. It never fails.
import { spawn } from "node:child_process"

/* how it is called */

/** Return what a hook answers, "" where it has nothing to tell. */
const hook = (event, said) =>
  new Promise((done) => {
    const child = spawn(COMMAND, ["hook", event, ...OPTIONS], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: 20_000,
      windowsHide: true,
    })
    let answer = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => (answer += text))
    child.on("error", () => done(""))
    child.on("close", () => done(answer))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(said))
  })

/** Return the texts of hooks' answers as one. */
const textOf = (answers) =>
  answers.flatMap((each) => (each ? [JSON.parse(each).hookSpecificOutput.additionalContext] : [])).join("\n\n")

/** Return the words of a message: no tool calls, no reasoning, nothing that a program has put in. */
const words = (parts) =>
  parts.flatMap((part) => (part.type === "text" && !part.synthetic && !part.ignored ? [part.text] : [])).join("\n")

export const Memorist = async ({ client, directory }) => {
  const begun = Date.now()
  const said = new Map() // what was said in each session of a person, by the ids of messages and parts
  const fresh = new Set() // the sessions where more was said than was kept
  const summaries = new Set() // the messages in which an agent tells itself what was said before
  let keeping = Promise.resolve()

  const note = (session, id, role, text) => {
    const timestamp = said.get(session).get(id)?.timestamp ?? new Date().toISOString()
    said.get(session).set(id, { type: role, uuid: id, timestamp, message: { content: text } })
    fresh.add(session)
  }

  /** Keep what was said in a session, all of it: what is kept already is known by its id. */
  const keep = (session) => {
    if (fresh.delete(session)) {
      const messages = [...said.get(session).values()]
      keeping = keeping.then(() => hook("Stop", { session_id: session, cwd: directory, messages }))
    }
    return keeping
  }

  /** Begin a session of a person, not one that an agent has with another, and return what always holds. */
  const begin = async (id) => {
    const { data } = await client.session.get({ path: { id } })
    if (!data || data.parentID) return ""
    said.set(id, new Map())
    return hook("SessionStart", {
      session_id: id,
      cwd: directory,
      source: data.time.created >= begun ? "startup" : "resume",
    })
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      try {
        const always = said.has(sessionID) ? "" : await begin(sessionID)
        if (!said.has(sessionID)) return
        const prompt = words(parts)
        note(sessionID, message.id, "user", prompt)
        const about = await hook("UserPromptSubmit", { session_id: sessionID, cwd: directory, prompt })
        const text = textOf([always, about])
        const id = `${parts.at(-1).id}m` // parts are in the order of their ids
        if (text) parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      } catch {} // a prompt is sent without its memory rather than not at all
    },
    event: async ({ event: { type, properties } }) => {
      const { info, part, sessionID } = properties
      if (type === "session.idle") await keep(sessionID)
      if (type === "message.updated" && info.summary === true) summaries.add(info.id)
      if (type === "message.part.updated" && part.type === "text" && !part.synthetic && said.has(part.sessionID)) {
        const of = part.messageID
        if (!said.get(part.sessionID).has(of) && !summaries.has(of)) note(part.sessionID, part.id, "assistant", part.text)
      }
    },
    dispose: () => {
      fresh.forEach(keep)
      return keeping
    },
  }
}
