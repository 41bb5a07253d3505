// Parses a crash report for display. Any client with the app can send reports: a member may be missing, of another type
// or very long. https://develop.sentry.dev/sdk/data-model/event-payloads/

const EXCEPTIONS = 10;
const FRAMES = 100;
const CRUMBS = 100;
const TEXT = 500;

/** A text, cut to a readable length; '' for any other value. */
export function text(value, most = TEXT) {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value.slice(0, most) : '';
}

const list = (value) => (Array.isArray(value) ? value : Array.isArray(value?.values) ? value.values : []);
const members = (value) => (value && typeof value === 'object' && !Array.isArray(value) ? value : {});

/**
 * The exceptions, starting with the fatal one, each with the innermost call first: `[{ title, frames: [{ place,
 * call, isOwn, source }] }]`.
 */
export function exceptionsOf(event) {
  const thrown = list(event?.exception)
    .slice(-EXCEPTIONS)
    .reverse()
    .map((one) => ({
      title: [text(one?.type), text(one?.value)].filter(Boolean).join(': '),
      frames: framesOf(one?.stacktrace),
    }));
  if (thrown.some(({ frames }) => frames.length)) return thrown;
  const threads = list(event?.threads).slice(0, 200);
  const thread = threads.find((one) => one?.crashed === true) ?? threads.find((one) => one?.current === true);
  const frames = framesOf(event?.stacktrace ?? thread?.stacktrace);
  if (!frames.length) return thrown;
  return [{ title: thrown[0]?.title ?? '', frames }, ...thrown.slice(1)];
}

function framesOf(trace) {
  return list(trace?.frames)
    .slice(-FRAMES)
    .reverse()
    .filter((frame) => frame && typeof frame === 'object')
    .map((frame) => {
      const file = text(frame.filename) || text(frame.abs_path) || text(frame.module) || text(frame.package);
      const line = Number.isInteger(frame.lineno) && frame.lineno > 0 ? frame.lineno : 0;
      return {
        call: text(frame.function) || text(frame.instruction_addr) || '?',
        place: line ? `${file}:${line}` : file,
        isOwn: frame.in_app === true,
        source: sourceOf(frame, line),
      };
    });
}

/** The source lines around the frame, when the report has them: `[{ number, code, isHere }]`. */
function sourceOf(frame, line) {
  if (typeof frame.context_line !== 'string') return [];
  const before = list(frame.pre_context).slice(-7);
  const after = list(frame.post_context).slice(0, 7);
  return [...before, frame.context_line, ...after].map((code, index) => ({
    number: line ? line - before.length + index : 0,
    code: text(code, 300),
    isHere: index === before.length,
  }));
}

/** The breadcrumbs, latest first: `[{ at, kind, words }]`; `at` is a Date or null. */
export function breadcrumbsOf(event) {
  return list(event?.breadcrumbs)
    .slice(-CRUMBS)
    .reverse()
    .map((crumb) => ({
      at: dateOf(crumb?.timestamp),
      kind: text(crumb?.category, 60) || text(crumb?.type, 60),
      isBad: ['error', 'fatal'].includes(crumb?.level),
      words: [text(crumb?.message), ...pairs(crumb?.data, 8).map(([name, value]) => `${name}: ${value}`)]
        .filter(Boolean)
        .join(' · '),
    }));
}

function dateOf(value) {
  const at = new Date(typeof value === 'number' ? value * 1000 : typeof value === 'string' ? value : NaN);
  return Number.isNaN(at.getTime()) ? null : at;
}

/** The device and its software: `[[key, value]]` with the keys of texts. */
export function deviceOf(event) {
  const { device, os, app, browser, runtime } = members(event?.contexts);
  const named = (one) => [text(one?.name, 80), text(one?.version, 80)].filter(Boolean).join(' ');
  return [
    [
      'device',
      [text(device?.manufacturer, 80), text(device?.model, 80) || text(device?.family, 80)].filter(Boolean).join(' '),
    ],
    ['os', named(os)],
    ['app', [text(app?.app_name, 80), text(app?.app_version, 80), text(app?.app_build, 80)].filter(Boolean).join(' ')],
    ['browser', named(browser)],
    ['runtime', named(runtime)],
    ['environment', text(event?.environment, 80)],
    ['server', text(event?.server_name, 80)],
  ].filter(([, value]) => value);
}

/** The report's tags: `[[name, value]]`. */
export function tagsOf(event) {
  const tags = event?.tags;
  if (Array.isArray(tags))
    return pairs(Object.fromEntries(tags.filter((pair) => Array.isArray(pair)).slice(0, 30)), 30);
  return pairs(tags, 30);
}

function pairs(value, most) {
  return Object.entries(members(value))
    .slice(0, most)
    .map(([name, one]) => [name.slice(0, 60), text(one, 200)])
    .filter(([, words]) => words);
}
