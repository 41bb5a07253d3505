// Cloud code to begin with (docs/guides/cloud-code.md): scripts/cloud deploy scripts/lib/demo/cloud

// POST /parse/functions/hello {"name": "Ann"}
Parse.Cloud.define('hello', (request) => `Hello ${request.params.name || 'world'}`);

// The number of products below a price, for every client.
Parse.Cloud.define('bargains', async (request) => {
  const query = new Parse.Query('Product');
  query.lessThan('unitPrice', Number(request.params.below) || 10);
  return { count: await query.count() };
});

// A wish has a text of at most 200 characters; who wished for it is the server's to say.
Parse.Cloud.beforeSave('Wish', (request) => {
  const text = request.object.get('text');
  if (!text || text.length > 200) throw new Parse.Error(Parse.Error.VALIDATION_ERROR, 'A wish has 1 to 200 characters.');
  if (request.user) request.object.set('by', request.user);
});

Parse.Cloud.afterSave('Wish', (request) => {
  request.log.info(`A wish: ${request.object.get('text')}`);
});
