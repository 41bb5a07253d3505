import Messages
import ParseProtocol

/// The stores, in a list and on a map.
extension Shop {
    func stores(_ visit: inout ShopVisit) throws(ShopStop) -> ShopPage {
        let view = view(visit)
        let text = String(visit.query("q").prefix(100))
        let found: [JSON]
        let pages: ShopAnswer
        if let latitude = Double(visit.query("latitude")), let longitude = Double(visit.query("longitude")) {
            let answers = try visit.ask(
                .function(
                    "nearestStores",
                    [
                        "latitude": JSON(number: latitude), "longitude": JSON(number: longitude), "limit": 20,
                    ]), .companyPages)
            try require(answers[0], visit)
            found = answers[0].result.arrayValue ?? []
            pages = answers[1]
        } else {
            let pattern: JSON = ["$regex": .string("^\\Q\(text.replacing("\\E", with: ""))\\E"), "$options": "i"]
            let condition: JSON = text.isEmpty ? [:] : ["$or": [["city": pattern], ["zipcode": pattern]]]
            let answers = try visit.ask(.find("Store", condition, order: "city,name", limit: 100), .companyPages)
            try require(answers[0], visit)
            found = answers[0].results
            pages = answers[1]
        }
        let stores = found.map { store -> [String: Any] in
            var values: [String: Any] = ["distance": false, "pin": false]
            for name in ["name", "address", "city", "zipcode", "hours"] {
                values[name] = store[name]?.stringValue ?? ""
            }
            values["id"] = store["objectId"]?.stringValue ?? ""
            if tiles != nil, let place = Self.place(store) {
                values["pin"] = place
                values["showLabel"] = view.words("map.showName", ["name": store["name"]?.stringValue ?? ""])
            }
            if let kilometers = store["distanceKilometers"]?.doubleValue {
                values["distance"] = view.words("stores.distance", ["n": view.decimal(kilometers)])
            }
            return values
        }
        var head = ShopHead(path: "/stores", description: view.words("stores.description", ["shop": name(visit)]))
        head.isListed = visit.request.query.isEmpty
        var values: [String: Any] = [
            "stores": stores, "isEmpty": stores.isEmpty, "place": text, "companyPages": view.companyLinks(pages),
        ]
        let shown = found.contains { Self.place($0) != nil } ? tiles : nil
        if let shown { values["map"] = Self.map(shown, view.words) }
        var page = render("stores", visit, title: view.words("stores.title"), values, head: head)
        page.pictureOrigin = shown?.origin ?? ""
        return page
    }

    private static func place(_ store: JSON) -> [String: String]? {
        guard let latitude = store["location"]?["latitude"]?.doubleValue,
            let longitude = store["location"]?["longitude"]?.doubleValue
        else { return nil }
        return ["latitude": String(latitude), "longitude": String(longitude)]
    }

    /// The texts of `WorldMap`, by their names without `map.`.
    private static let mapTexts = [
        "all", "closer", "degrees", "east", "further", "north", "point", "south", "stores", "storesHint", "west",
    ]

    private static func map(_ tiles: MapTiles, _ words: ShopWords) -> [String: String] {
        let texts = mapTexts.map { ("map.\($0)", JSON.string(words("map.\($0)"))) }
        return [
            "tiles": tiles.template, "attribution": tiles.attribution,
            "texts": JSON.object(Dictionary(uniqueKeysWithValues: texts)).serializedText,
        ]
    }
}
