import Messages
import ParseProtocol

/// The shopper's own review of a product, and reports of others' reviews.
extension Shop {
    /// The pages below `/products/<product>`.
    func productPage(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let path = visit.request.path
        let href = "/products/\(path[1].percentEncoded)"
        switch (visit.request.method, path[2]) {
        case ("GET", "review"), ("POST", "review"): return try review(&visit, href, ShopView.id(in: path[1]))
        case ("POST", "report"): return try report(&visit, href)
        case ("GET", "reported"):
            let words = view(visit).words
            return notice(visit, words("reviews.reported"), words("reviews.reportedText"), href, words("reviews.back"))
        default: throw .page(missing(visit))
        }
    }

    private func review(_ visit: inout ShopVisit, _ href: String, _ id: String) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, "\(href)/review")
        let mine: JSON = [
            "product": .pointer("Product", id), "user": .pointer("_User", visit.request.userID),
        ]
        let answers = try visit.ask(
            .get("classes/Product/\(id.percentEncoded)"), .find("ProductReview", mine, order: "createdAt", limit: 1))
        for answer in answers { try require(answer, visit) }
        let product = answers[0].json
        guard product["active"] != false else { throw .page(missing(visit)) }
        let stored = answers[1].results.first
        guard visit.request.method == "POST" else {
            var form = ShopForm(["content"], of: stored ?? [:])
            form.typed["rating"] = (stored?["rating"]?.intValue).map { String($0) } ?? ""
            return reviewPage(visit, href, product, stored, visit.kept ?? form)
        }
        return try saveReview(&visit, href, product, stored)
    }

    private func saveReview(
        _ visit: inout ShopVisit, _ href: String, _ product: JSON, _ stored: JSON?
    ) throws(ShopStop) -> ShopPage {
        let words = view(visit).words
        let id = stored?["objectId"]?.stringValue
        let path = "classes/ProductReview" + (id.map { "/\($0.percentEncoded)" } ?? "")
        if visit.field("remove") == "1" {
            guard id != nil else { return redirect("\(href)#reviews") }
            let answer = try visit.ask(.send("DELETE", path, [:]))[0]
            if answer.code != 101 { try require(answer, visit) }
            return redirect("\(href)#reviews")
        }
        var form = ShopForm()
        for name in ["rating", "content"] { form.typed[name] = visit.field(name) }
        form.require(["rating", "content"], words)
        let stars = Int64(form["rating"]) ?? 0
        if !(1...5).contains(stars) { form.wrong["rating"] = words("reviews.choose") }
        if form["content"].count > Self.reviewCharactersMax { form.wrong["content"] = words("form.tooLong") }
        guard form.isGood else { return again("\(href)/review", form) }
        var review: [String: JSON] = ["rating": .int(stars), "content": .string(form["content"])]
        if id == nil { review["product"] = .pointer("Product", product["objectId"]?.stringValue ?? "") }
        let answer = try visit.ask(.send(id == nil ? "POST" : "PUT", path, .object(review)))[0]
        // 137: another window has sent the first review.
        if answer.code == 137 { return redirect("\(href)/review") }
        guard answer.code == 142 else {
            try require(answer, visit)
            return redirect("\(href)#reviews")
        }
        form.problem = answer.message
        return again("\(href)/review", form)
    }

    private static let reviewCharactersMax = 2000

    private func reviewPage(
        _ visit: ShopVisit, _ href: String, _ product: JSON, _ stored: JSON?, _ form: ShopForm
    ) -> ShopPage {
        let words = view(visit).words
        let title = words("reviews.of", ["name": product["name"]?.stringValue ?? ""])
        var values = form.values([])
        values["heading"] = title
        values["href"] = href
        values["stars"] = (1...5).reversed().map { stars -> [String: Any] in
            [
                "value": stars, "title": words("review.stars", ["n": String(stars)]),
                "selected": form["rating"] == String(stars),
            ]
        }
        values["content"] = form["content"]
        if let text = form.wrong["rating"] { values["ratingWrong"] = text }
        if let text = form.wrong["content"] { values["contentWrong"] = text }
        values["isStored"] = stored != nil
        if stored?["moderation"] == "hidden" {
            values["hidden"] = words("reviews.hidden")
            values["reason"] = stored?["moderationReason"]?.stringValue ?? ""
        }
        return render("account/review", visit, title: title, values, personal: true)
    }

    private func report(_ visit: inout ShopVisit, _ href: String) throws(ShopStop) -> ShopPage {
        try requireSignedIn(visit, href)
        let answer = try visit.ask(.function("reportReview", ["reviewId": .string(visit.field("review"))]))[0]
        // 101: it is deleted already.
        if answer.code != 101 { try require(answer, visit) }
        return redirect("\(href)/reported")
    }
}
