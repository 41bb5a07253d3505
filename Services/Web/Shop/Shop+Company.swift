import Messages
import ParseProtocol

extension ShopAsk {
    /// The published company pages, whose links are in the footer.
    static let companyPages = ShopAsk.find(
        "Page", ["published": ["$ne": false]], order: "name", limit: 20, keys: "name,title")
}

extension ShopView {
    func companyLinks(_ answer: ShopAnswer) -> [[String: Any]] {
        answer.results.map { page -> [String: Any] in
            let name = page["name"]?.stringValue ?? ""
            return ["href": "/pages/\(name.percentEncoded)", "title": page["title"]?.stringValue ?? name]
        }
    }
}

/// Company pages, such as about and privacy.
extension Shop {
    func companyPages(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let answer = try visit.ask(.companyPages)[0]
        try require(answer, visit)
        let view = view(visit)
        let links = view.companyLinks(answer)
        return render(
            "company-pages", visit, title: view.words("companyPages.title"),
            ["companyPages": links, "isEmpty": links.isEmpty], head: ShopHead(path: "/pages"))
    }

    func companyPage(_ visit: inout ShopVisit, _ name: String) throws(ShopStop) -> ShopPage {
        let answers = try visit.ask(
            .find("Page", ["name": .string(name), "published": ["$ne": false]], order: "name", limit: 1),
            .companyPages)
        try require(answers[0], visit)
        guard let page = answers[0].results.first else { throw .page(missing(visit)) }
        let title = page["title"]?.stringValue ?? name
        let content = page["content"]?.stringValue ?? ""
        return render(
            "company-page", visit, title: title,
            [
                "heading": title, "content": ShopMarkdown.html(content),
                "companyPages": view(visit).companyLinks(answers[1]),
            ],
            head: ShopHead(
                path: "/pages/\(name.percentEncoded)",
                description: ShopHead.excerpt(content.filter { !"#*_[]>`".contains($0) })))
    }
}
