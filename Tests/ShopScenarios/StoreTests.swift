import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A shopper finds the nearest store by position, city or zip code.
@Suite struct StoreTests {
    /// Stores along the equator, one degree apart, at a longitude that no other scenario uses.
    private struct Street {
        let town = "Town \(Names.random(6))"
        let names = ["A", "B", "C", "D"]

        func open(_ suite: Suite, at longitude: Double) async throws {
            for (index, name) in names.enumerated() {
                let east = longitude + Double(index)
                let answer = try await ParseClient.master(suite).create(
                    "Store",
                    [
                        "name": .string("\(town) \(name)"), "city": .string(town), "zipcode": .string("Z-\(town)"),
                        "address": "1 Main Street", "hours": "10-20",
                        "location": StoreTests.point(0, east > 180 ? east - 360 : east),
                    ])
                guard answer.status == 201 else { throw Unexpected("POST Store", answer) }
            }
        }

        /// The last letters of the names of this street's stores, in their order.
        func letters(_ stores: [JSON]) -> String {
            stores.map { $0.text("name") }.filter { $0.hasPrefix(town) }.map { String($0.suffix(1)) }.joined()
        }
    }

    static func point(_ latitude: Double, _ longitude: Double) -> JSON {
        ["__type": "GeoPoint", "latitude": JSON(number: latitude), "longitude": JSON(number: longitude)]
    }

    @Test func theNearestStoresComeFirstWithTheirDistance() async throws {
        let suite = try await Suite.shared
        let street = Street()
        // Across the 180-degree meridian, where longitudes jump.
        try await street.open(suite, at: 178.5)
        let stranger = ParseClient(suite)
        let near = try await stranger.run(
            "nearestStores", ["latitude": 0, "longitude": 179.6, "maxKilometers": 300])
        let stores = near.result.arrayValue ?? []
        #expect(street.letters(stores) == "BCAD", "\(near.text)")
        // A degree of the equator is 6371 km * pi / 180.
        #expect(stores.compactMap { $0["distanceKilometers"]?.doubleValue } == [11.119, 100.075, 122.314, 211.27])
        #expect(stores.first?["__type"] == "Object")
        #expect(stores.first?["className"] == "Store")
        #expect(stores.first?["location"] == Self.point(0, 179.5))

        let two = try await stranger.run(
            "nearestStores", ["latitude": 0, "longitude": -179.6, "limit": 2, "maxKilometers": 300])
        #expect(street.letters(two.result.arrayValue ?? []) == "CB")
        let nobody = try await stranger.run("nearestStores", ["latitude": 0, "longitude": 179.6, "maxKilometers": 1])
        #expect(nobody.result == [])
    }

    @Test func badPositionsAreRefused() async throws {
        let client = ParseClient(try await Suite.shared)
        for parameters in [
            [:], ["latitude": 1], ["latitude": 91, "longitude": 0], ["latitude": 0, "longitude": 181],
            ["latitude": "1", "longitude": 1], ["latitude": 1, "longitude": 1, "limit": 0],
            ["latitude": 1, "longitude": 1, "limit": "x"], ["latitude": 1, "longitude": 1, "maxKilometers": -1],
        ] as [JSON] {
            let answer = try await client.run("nearestStores", parameters)
            #expect(answer.code == 142, "\(parameters.serializedText): \(answer.text)")
        }
    }

    @Test func storesAreFoundByCityInAnyLetterCaseAndByZipcode() async throws {
        let suite = try await Suite.shared
        let street = Street()
        try await street.open(suite, at: 20)
        let client = ParseClient(suite)
        let city = try await client.find(
            "Store", ["city": ["$regex": .string("^\\Q\(street.town.uppercased())\\E$"), "$options": "i"]],
            ["order": "name"])
        #expect(street.letters(city.results) == "ABCD", "\(city.text)")
        let zipcode = try await client.find("Store", ["zipcode": .string("Z-\(street.town)")], ["order": "-name"])
        #expect(street.letters(zipcode.results) == "DCBA")
    }

    /// Geo queries as SDKs send them: every style of client, with count, pages, other constraints and sub-queries.
    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func sdkQueriesFindPlaces(_ style: ParseClient.Style) async throws {
        let suite = try await Suite.shared
        let street = Street()
        try await street.open(suite, at: 40)
        let client = ParseClient(suite, style: style)
        let near: JSON = ["$nearSphere": Self.point(0.1, 41.9), "$maxDistanceInKilometers": 500]
        let page = try await client.find(
            "Store", ["location": near, "city": .string(street.town)], ["limit": 2, "skip": 1, "count": 1])
        #expect(street.letters(page.results) == "BD", "\(page.text)")
        #expect(page["count"] == 4, "\(page.text)")
        let box: JSON = ["$within": ["$box": [Self.point(-1, 40.5), Self.point(1, 42.5)]]]
        let inBox = try await client.find("Store", ["location": box, "city": .string(street.town)], ["order": "name"])
        #expect(street.letters(inBox.results) == "BC")
        let bad = try await client.find("Store", ["location": ["$within": ["$box": [Self.point(0, 0)]]]])
        #expect(bad.code == 107)
        let inOr = try await client.find("Store", ["$or": [["location": near], ["name": "x"]]])
        #expect(inOr.code == 102, "\(inOr.text)")

        let visits = "Visit\(Names.random(6))"
        let nearest = page.results.first?.objectId ?? ""
        let visit = try await ParseClient.master(suite).create(visits, ["store": .pointer("Store", nearest)])
        let found = try await client.find(
            visits, ["store": ["$inQuery": ["className": "Store", "where": ["location": near]]]])
        #expect(found.results.map(\.objectId) == [visit.objectId], "\(found.text)")
    }

    @Test func onlyAdminsWriteStores() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        #expect(try await customer.client.create("Store", ["name": "Mine"]).code == 119)
        let admin = try await Customer.admin(suite)
        let store = try await admin.create("Store", ["name": "Ours", "location": Self.point(-40, -120)])
        #expect(store.status == 201)
        let second = try await admin.call(.PUT, "/classes/Store/\(store.objectId)", ["entrance": Self.point(0, 0)])
        #expect(second.code == 111, "\(second.text)")
        #expect(try await admin.call(.DELETE, "/classes/Store/\(store.objectId)").status == 200)
    }

    @Test func everyStoreOfTheDemoShopHasAPlace() throws {
        let file = "\(checkoutDirectory)/scripts/lib/demo/shop.json"
        let shop = try JSON(parsing: Array(FileManager.default.contents(atPath: file) ?? Data()))
        let stores = shop["stores"]?.arrayValue ?? []
        #expect(!stores.isEmpty)
        for store in stores {
            #expect((-90...90).contains(store["latitude"]?.doubleValue ?? 999), "\(store.text("key"))")
            #expect((-180...180).contains(store["longitude"]?.doubleValue ?? 999), "\(store.text("key"))")
        }
        #expect(shop["pages"]?.arrayValue?.map { $0.text("name") } == ["about", "contact", "privacy", "terms"])
    }
}
