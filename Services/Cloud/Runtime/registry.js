'use strict';
// The definitions in main.js: functions, jobs and triggers, each with its handler and validator.
const { line } = require('./log');
const types = require('./parse/types');
const { checkValidator, rateLimitOf } = require('./rules');

/** The names under which hooks on files, config and live queries are stored, as in Parse Server. */
const PSEUDO_CLASSES = { file: '@File', config: '@Config', connect: '@Connect' };

const functions = new Map();
const jobs = new Map();
const triggers = new Map();

function put(map, kind, name, entry) {
  if (typeof name !== 'string' || !name) throw new TypeError(`A ${kind} needs a name.`);
  if (/['"`]/.test(name)) throw new TypeError(`The name of the ${kind} ${name} must not contain a quotation mark.`);
  if (typeof entry.handler !== 'function') throw new TypeError(`The ${kind} ${name} needs a function.`);
  const { validator } = entry;
  if (validator !== undefined && validator !== null && !['function', 'object'].includes(typeof validator)) {
    throw new TypeError(`The validator of the ${kind} ${name} must be a function or an object.`);
  }
  checkValidator(validator, `The validator of the ${kind} ${name}`);
  if (map.has(name)) line('warn', `The ${kind} ${name} is defined more than once; the last one is used.`);
  map.set(name, entry);
}

function addFunction(name, handler, validator) {
  put(functions, 'cloud function', name, { handler, validator });
}

function addJob(name, handler) {
  put(jobs, 'job', name, { handler });
}

/** The classes of the folder's own SDK that identify hooks on files and Config. */
const marks = new Map();

/** The name of a trigger's class, given as a name, a subclass, Parse.File or Parse.Config. */
function classNameOf(ofClass, Config) {
  if (marks.has(ofClass)) return marks.get(ofClass);
  if (ofClass === types.File) return PSEUDO_CLASSES.file;
  if (ofClass === Config) return PSEUDO_CLASSES.config;
  return (ofClass && ofClass.className) || ofClass;
}

function addTrigger(trigger, className, handler, validator) {
  const ofFile = className === PSEUDO_CLASSES.file && /^(before|after)(Save|Delete)$/.test(trigger);
  const name = ofFile ? `${trigger}File` : trigger;
  checkClass(name, className);
  if (rateLimitOf(validator) && !trigger.startsWith('before')) {
    throw new TypeError(`The validator of ${name} has a rate limit, but this trigger cannot refuse a request.`);
  }
  put(triggers, 'trigger', `${name}.${className}`, { handler, validator, trigger: name, className });
}

/** Parse Server's rules about which class may have which trigger. */
function checkClass(trigger, className) {
  if (typeof className !== 'string' || !className) throw new TypeError(`The trigger ${trigger} needs a class.`);
  if (trigger === 'beforeSave' && className === '_PushStatus') {
    throw new Error('Only afterSave is allowed on _PushStatus');
  }
  if (['beforeLogin', 'afterLogin', 'beforePasswordResetRequest'].includes(trigger) && className !== '_User') {
    throw new Error(`Only the _User class is allowed for the ${trigger} trigger.`);
  }
  if (trigger === 'afterLogout' && className !== '_Session') {
    throw new Error('Only the _Session class is allowed for the afterLogout trigger.');
  }
  if (className === '_Session' && trigger !== 'afterLogout') {
    throw new Error('Only the afterLogout trigger is allowed for the _Session class.');
  }
}

/** The definitions that are sent to the host after the code was loaded. */
function summary() {
  return {
    functions: [...functions.keys()],
    jobs: [...jobs.keys()],
    triggers: [...triggers.values()].map(({ trigger, className }) => ({ trigger, className })),
    rateLimits: rateLimits(),
  };
}

/** The rate limits of validators. The host counts, because several processes run the code. */
function rateLimits() {
  const ofFunctions = [...functions].map(([name, { validator }]) => ({ name, limit: rateLimitOf(validator) }));
  const ofTriggers = [...triggers.values()].map(({ trigger, className, validator }) => (
    { name: trigger, className, limit: rateLimitOf(validator) }
  ));
  const limited = [...ofFunctions, ...ofTriggers].filter(({ limit }) => limit);
  return limited.map(({ limit, ...named }) => ({ ...named, ...limit }));
}

module.exports = {
  PSEUDO_CLASSES,
  mark: (ofClass, name) => marks.set(ofClass, name),
  addFunction, addJob, addTrigger, classNameOf, summary,
  functionNamed: (name) => functions.get(name),
  jobNamed: (name) => jobs.get(name),
  triggerOf: (trigger, className) => triggers.get(`${trigger}.${className}`),
};
