/// The stored progress is further than the driver knows. Either an earlier commit succeeded although its answer was
/// lost, for example because the database leader died, or another process drove the work meanwhile. The driver
/// continues from the stored state.
package struct StepAlreadyTaken: Error {}
