'use strict';
// Parse.Cloud: the definitions of cloud code, and the calls that it can make.
const registry = require('../registry');
const { httpRequest } = require('../http/http-request');
const { line } = require('../log');
const { currentRun } = require('../scope');
const { settings } = require('../settings');
const { decode, encode } = require('./codec');
const { headerOf } = require('./headers');
const { sendMail } = require('./mail');
const { promised } = require('./promise');
const { answerOf, request } = require('./rest');
const { Config } = require('./services');
const types = require('./types');

const { file, connect } = registry.PSEUDO_CLASSES;

/** A trigger of a class: (class, handler, validator). */
function ofClass(trigger) {
  return (parseClass, handler, validator) => {
    registry.addTrigger(trigger, registry.classNameOf(parseClass, Config), handler, validator);
  };
}

/** A trigger of one class, which may be omitted: (handler, validator) or (class, handler, validator). */
function ofOneClass(trigger, className) {
  return (...values) => {
    const isNamed = typeof values[0] === 'string' || (values[0] && typeof values[0].className === 'string');
    const [parseClass, handler, validator] = isNamed ? values : [className, ...values];
    registry.addTrigger(trigger, registry.classNameOf(parseClass, Config), handler, validator);
  };
}

const Cloud = {
  define: (name, handler, validator) => registry.addFunction(name, handler, validator),
  job: (name, handler) => registry.addJob(name, handler),

  beforeSave: ofClass('beforeSave'),
  afterSave: ofClass('afterSave'),
  beforeDelete: ofClass('beforeDelete'),
  afterDelete: ofClass('afterDelete'),
  beforeFind: ofClass('beforeFind'),
  afterFind: ofClass('afterFind'),
  beforeSubscribe: ofClass('beforeSubscribe'),
  afterLiveQueryEvent: ofClass('afterEvent'),

  beforeLogin: ofOneClass('beforeLogin', '_User'),
  afterLogin: ofOneClass('afterLogin', '_User'),
  afterLogout: ofOneClass('afterLogout', '_Session'),
  beforePasswordResetRequest: ofOneClass('beforePasswordResetRequest', '_User'),

  beforeSaveFile: ofOneClass('beforeSaveFile', file),
  afterSaveFile: ofOneClass('afterSaveFile', file),
  beforeDeleteFile: ofOneClass('beforeDeleteFile', file),
  afterDeleteFile: ofOneClass('afterDeleteFile', file),
  beforeConnect: ofOneClass('beforeConnect', connect),

  /** Later requests of this run use the master key; after a call while main.js is loaded, requests of every run do. */
  useMasterKey() {
    const run = currentRun();
    if (run) run.usesMasterKey = true;
    else settings.master = true;
  },

  run(name, params = {}, options = {}) {
    return promised(async () => {
      if (typeof name !== 'string' || !name) throw new TypeError('Cloud function name must be a string.');
      const path = `/functions/${encodeURIComponent(name)}`;
      const { result } = await answerOf('POST', path, encode(params || {}, { pointers: true }), options || {});
      return decode(result);
    }, options);
  },

  /** Starts a job; resolves with the id of its _JobStatus. */
  startJob(name, params = {}, options = {}) {
    return promised(async () => {
      if (typeof name !== 'string' || !name) throw new TypeError('Cloud job name must be a string.');
      const body = encode(params || {}, { pointers: true });
      const rights = { ...options, useMasterKey: true };
      const { headers } = await request('POST', `/jobs/${encodeURIComponent(name)}`, body, rights);
      return headerOf(headers, 'x-parse-job-status-id');
    }, options);
  },

  getJobsData(options = {}) {
    return promised(answerOf('GET', '/cloud_code/jobs/data', {}, { ...options, useMasterKey: true }), options);
  },

  getJobStatus(id, options = {}) {
    return new types.Query('_JobStatus').get(id, { ...options, useMasterKey: true });
  },

  httpRequest,

  /** Queues mails with the shop; resolves with `{ mails: [{ id, messageId }] }`. */
  sendEmail: (data) => promised(sendMail(data)),

  onLiveQueryEvent() {
    line('warn', 'Parse.Cloud.onLiveQueryEvent is not available; its handler is never called.');
  },
};

module.exports = { Cloud };
