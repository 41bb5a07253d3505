// Jobs: both styles, how they are started, and the status of their runs.
import { call, error, get, master, modern, others, post, remove, result, stored, subject } from '../rows.mjs';

const start = (params = {}, more = {}) =>
  post('/jobs/job_', params, { ...master, keep: { run: 'header:X-Parse-Job-Status-Id' }, ...more });
const status = (fields) => ({
  ...get('/classes/_JobStatus/<run>', master),
  answer: { ...stored, jobName: 'job_', ...fields, ...others },
});
const job = (body) => `Parse.Cloud.job('job_', async (request) => {\n${body}\n});`;
const hostedJob = (body) => `Parse.Cloud.job('job_', function (request, status) {\n${body}\n});`;

export default [
  ...subject('jobs', 'Cloud Code guide, Cloud Jobs', [
    {
      name: 'a text is the message',
      code: job("return 'three removed';"),
      ask: start(),
      answer: {},
      after: [status({ status: 'succeeded', message: 'three removed', source: 'api' })],
    },
    {
      name: 'nothing is returned',
      code: job('return;'),
      ask: start(),
      answer: {},
      after: [status({ status: 'succeeded' })],
    },
    {
      name: 'parameters',
      code: job("return 'days: ' + request.params.days;"),
      ask: start({ days: 3 }),
      answer: {},
      after: [status({ status: 'succeeded', message: 'days: 3' })],
    },
    {
      name: 'an error',
      code: job("throw new Error('It broke.');"),
      ask: start(),
      answer: {},
      after: [status({ status: 'failed', message: 'It broke.' })],
    },
    {
      name: 'a text thrown',
      code: job("throw 'It broke.';"),
      ask: start(),
      answer: {},
      after: [status({ status: 'failed', message: 'It broke.' })],
    },
    {
      name: 'a message on the way',
      code: job("request.message('half'); return new Promise(() => {});"),
      ask: start(),
      answer: {},
      after: [status({ status: 'running', message: 'half' }), remove('/jobs/job_', master)],
    },
    {
      name: 'a message is a promise',
      code: job("return request.message('half').then(() => 'told');"),
      ask: start(),
      answer: {},
      after: [status({ status: 'succeeded', message: 'told' })],
    },
    {
      name: 'the end has its time',
      code: job("return 'done';"),
      ask: start(),
      answer: {},
      after: [status({ status: 'succeeded', finishedAt: { __type: 'Date', iso: '<any date>' } })],
    },
    {
      name: 'its own id',
      code: job('return request.jobId;'),
      ask: start(),
      answer: {},
      after: [status({ message: '<run>' })],
    },
    {
      name: 'writes with the master key',
      code: job("await new Parse.Object('Item_').save({ n: 1, ACL: new Parse.ACL() }, { useMasterKey: true });"),
      ask: start(),
      answer: {},
      after: [{ ...get('/classes/Item_', master), answer: { results: [{ ...stored, n: 1, ...others }] } }],
    },
    {
      name: 'without the master key',
      source: 'protocol 1',
      code: job('return 1;'),
      ask: start({}, { as: 'ann' }),
      status: 403,
      answer: { error: '<any text>' },
    },
    { name: 'one that is not there', source: 'protocol 11', ask: start(), answer: error(141, 'Invalid job.') },
    {
      name: 'by its name in the body',
      source: 'protocol 11',
      code: job("return 'named';"),
      ask: post('/jobs', { jobName: 'job_' }, { ...master, keep: { run: 'header:X-Parse-Job-Status-Id' } }),
      answer: {},
      after: [status({ status: 'succeeded', message: 'named' })],
    },
  ]),
  ...subject('jobs of hosted Parse', "hosted Parse's Cloud Code guide, Background Jobs", [
    {
      name: 'success',
      code: hostedJob("status.success('Migration completed successfully.');"),
      ask: start(),
      answer: {},
      after: [status({ status: 'succeeded', message: 'Migration completed successfully.' })],
    },
    {
      name: 'error',
      code: hostedJob("status.error('Uh oh, something went wrong.');"),
      ask: start(),
      answer: {},
      after: [status({ status: 'failed', message: 'Uh oh, something went wrong.' })],
    },
    {
      name: 'useMasterKey and each',
      code: hostedJob(`Parse.Cloud.useMasterKey();
        new Parse.Query('Item_').each(function (item) { item.set('plan', 'free'); return item.save();
          }).then(function () {
          status.success('all'); }, function () { status.error('none'); });`),
      before: [post('/classes/Item_', { ACL: {} }, master)],
      ask: start(),
      answer: {},
      after: [
        status({ status: 'succeeded', message: 'all' }),
        { ...get('/classes/Item_', master), answer: { results: [{ ...stored, plan: 'free', ACL: {} }] } },
      ],
    },
    {
      name: 'a message on the way',
      code: hostedJob("status.message('half'); setTimeout(function () { status.success('whole'); }, 5);"),
      ask: start(),
      answer: {},
      after: [status({ status: 'succeeded', message: 'whole' })],
    },
  ]),
  ...subject('jobs from code', 'JS SDK, Parse.Cloud', [
    {
      name: 'startJob and getJobStatus',
      ask: call(),
      answer: result(['job_', 'r', 10]),
      code: `${job("return 'r';")}\n${modern(`const id = await Parse.Cloud.startJob('job_', {});
        for (;;) {
          const status = await Parse.Cloud.getJobStatus(id);
          if (status.get('status') !== 'running') return [status.get('jobName'), status.get('message'), id.length];
          await new Promise((done) => setTimeout(done, 20));
        }`)}`,
    },
    {
      name: 'getJobsData',
      ask: call(),
      answer: result(true),
      code: `${job("return 'r';")}\n${modern("return (await Parse.Cloud.getJobsData()).jobs.includes('job_');")}`,
    },
    {
      name: 'startJob of one that is not there',
      ask: call(),
      answer: error(141, 'Invalid job.'),
      code: modern("return Parse.Cloud.startJob('none_');"),
    },
  ]),
];
