import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Unchanged code of an app from hosted Parse's time: functions that answer through `response`, callbacks, the Stripe
/// module with the code's own account, the caller's session on every request, and functions that replace Satchel's.
/// `HostedStripeTests` runs the same code with the shop's account.
@Suite struct HostedCodeTests {
    /// The key in the code.
    static let stripeKey = "sk_test_of_the_code"

    static let code = """
        var Stripe = require('stripe');
        var Mailgun = require('mailgun');
        Stripe.initialize('\(stripeKey)');
        Mailgun.initialize('shop.example', 'key-1');

        Parse.Cloud.define("hello", function(request, response) {
          response.success("Hello " + request.params.name);
        });

        Parse.Cloud.define("createStripeCustomer", function(request, response) {
          Stripe.Customers.create({
            source: request.params.tokenId,
            email: request.params.customerEmail
          }, {
            success: function(customer) { response.success(customer.id); },
            error: function(error) { response.error(error.message); }
          });
        });

        Parse.Cloud.define("ChargeToken", function(request, response) {
          Stripe.Charges.create({ amount: 350, currency: "usd", source: request.params.chargeToken }, {
            success: function(charge) { response.success(charge.id); },
            error: function(error) { response.error(error.httpStatus + " " + error.type + ": " + error.message); }
          });
        });

        Parse.Cloud.define("giveBack", function(request, response) {
          Stripe.Charges.refund(request.params.charge, 100).then(function(charge) {
            response.success(charge.amount_refunded);
          }, function(error) { response.error(error.code); });
        });

        Parse.Cloud.define("gold", function(request, response) {
          Stripe.Plans.create({ id: "gold", amount: 100, currency: "usd", interval: "month" }, {
            success: function(plan) { response.success(plan.id); },
            error: function(error) { response.error(error.message); }
          });
        });

        Parse.Cloud.define("averageStars", function(request, response) {
          var query = new Parse.Query("OldReview");
          query.equalTo("movie", request.params.movie);
          query.find({
            success: function(results) {
              if (!results.length) { response.error("movie lookup failed"); return; }
              var sum = 0;
              for (var i = 0; i < results.length; ++i) { sum += results[i].get("stars"); }
              response.success(sum / results.length);
            },
            error: function() { response.error("movie lookup failed"); }
          });
        });

        Parse.Cloud.define("secrets", function(request, response) {
          if (request.params.master) { Parse.Cloud.useMasterKey(); }
          new Parse.Query("OldSecret").count().then(function(count) {
            response.success(count);
          }, function(error) { response.error(error.code, error.message); });
        });

        Parse.Cloud.beforeSave("OldReview", function(request, response) {
          if (request.object.get("stars") < 1) {
            response.error("you cannot give less than one star");
          } else {
            var comment = request.object.get("comment");
            if (comment && comment.length > 5) { request.object.set("comment", comment.substring(0, 5)); }
            response.success();
          }
        });

        Parse.Cloud.afterSave("OldReview", function(request) {
          var note = new Parse.Object("OldHeard");
          note.set("stars", request.object.get("stars"));
          note.save();
        });
        """

    @Test(.timeLimit(.minutes(10))) func codeOfHostedParseRunsAsItIs() async throws {
        try await Peer.with("webhook.py") { stripe in
            let suite = try await CloudSuite.start(
                Self.code,
                settings: [
                    "SATCHEL_STRIPE_URL": stripe.url, "SATCHEL_CLOUD_REPLACES_FUNCTIONS": "true",
                    "SATCHEL_CLOUD_AS_CALLER": "true", "SATCHEL_CLOUD_PROVIDERS": "own",
                ])
            let ann = try await Customer.signUp(suite)
            let (client, master) = (ann.client, ParseClient.master(suite))

            for stars in [2, 4] {
                let body: JSON = ["movie": "m", "stars": .int(Int64(stars)), "comment": "wonderful"]
                let saved = try await client.create("OldReview", body)
                #expect(saved.status == 201, "\(saved.text)")
                #expect(saved["comment"] == "wonde", "\(saved.text)")
            }
            let refused = try await client.create("OldReview", ["movie": "m", "stars": 0])
            #expect(refused.code == 141)
            #expect(refused["error"] == "you cannot give less than one star")
            let average = try await client.call(.POST, "/functions/averageStars", ["movie": "m"])
            #expect(average.result == 3, "\(average.text)")
            let none = try await client.call(.POST, "/functions/averageStars", ["movie": "other"])
            #expect(none.code == 141)
            #expect(none["error"] == "movie lookup failed")
            try await eventually("afterSave heard of both") {
                try await master.find("OldHeard", [:]).results.count == 2
            }

            let own: JSON = [ann.userId: ["read": true, "write": true]]
            for acl in [own, [:]] { _ = try await master.create("OldSecret", ["ACL": acl]) }
            let asCaller = try await client.call(.POST, "/functions/secrets", [:])
            #expect(asCaller.result == 1, "As the caller: \(asCaller.text)")
            let asMaster = try await client.call(.POST, "/functions/secrets", ["master": true])
            #expect(asMaster.result == 2, "\(asMaster.text)")

            // Satchel has a function of this name, but the code's function runs, and calls Stripe itself.
            let card: JSON = ["tokenId": "tok_visa", "customerEmail": "ann@example.com"]
            _ = try await stripe.control("v1/customers", ["json": ["id": "cus_of_code"]])
            let made = try await client.call(.POST, "/functions/createStripeCustomer", card)
            #expect(made.result == "cus_of_code", "\(made.text)")
            let error: JSON = ["error": ["type": "card_error", "message": "Your card was declined."]]
            _ = try await stripe.control("v1/customers", ["status": 402, "json": error])
            let declined = try await client.call(.POST, "/functions/createStripeCustomer", card)
            #expect(declined.code == 141)
            #expect(declined["error"] == "Your card was declined.")
            let credentials = "Basic \(Data("\(Self.stripeKey):".utf8).base64EncodedString())"
            let asked = stripe.reports().filter { $0["name"] == "v1/customers" }
            #expect(asked.count == 2)
            #expect(asked.allSatisfy { $0["headers"]?["authorization"] == .string(credentials) })
            await suite.stop()
        }
    }
}
