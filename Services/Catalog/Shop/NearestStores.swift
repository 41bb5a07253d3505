import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// `nearestStores {latitude, longitude, limit?, maxKilometers?}`: the stores around a place, nearest first, each with
/// its distance. Open to all clients.
struct NearestStores: Sendable {
    let place: GeoPoint
    /// Stores in the answer: 10 by default, 100 at most, the length of a list in an app.
    let limit: Int
    let maxKilometers: Double?

    /// Half the circumference of the earth, the largest possible distance.
    static let kilometersMax = 20_016.0

    /// - Throws: `.validationError` (142) for a missing or bad parameter.
    init(_ parameters: JSON) throws {
        guard let latitude = try parameters.numberParameter("latitude", in: -90...90),
            let longitude = try parameters.numberParameter("longitude", in: -180...180),
            let place = GeoPoint(latitude: latitude, longitude: longitude)
        else { throw ParseError(.validationError, "latitude and longitude are needed.") }
        self.place = place
        limit = Int(try parameters.listLimit(standard: 10, maximum: 100))
        maxKilometers = try parameters.numberParameter("maxKilometers", in: 0...Self.kilometersMax)
    }

    func find(in reader: ObjectReader, caller: Caller) throws -> JSON {
        var near: JSON = ["$nearSphere": place.wire]
        near["$maxDistanceInKilometers"] = maxKilometers.map(JSON.init(number:))
        let stores = try reader.documents(
            Query(className: "Store", where: ["location": near], limit: limit), caller: caller)
        return .array(
            stores.map { store in
                var store = store.parseObject(of: "Store")
                store["distanceKilometers"] = store["location"].flatMap(GeoPoint.init).map {
                    JSON(number: (place.kilometers(to: $0) * 1000).rounded() / 1000)
                }
                return store
            })
    }
}
